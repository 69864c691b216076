/**
 * How fast a line delivers, learnt from what is moved over it, round by round: a round ends when something that
 * left after its beginning has been answered. The best of the last rounds is believed: one that was disturbed,
 * or that had less to move, tells nothing of the line.
 */

/** Shorter ones tell more of the clock and of other work than of the line. */
const SHORTEST_ROUND_MS = 40
/** A round that lasts longer is looked at before its end. */
const LONGEST_ROUND_MS = 150
/** A line that has become slower is known as such after this time. */
const REMEMBERED_MS = 10_000
/** Less than this is no growth, but chance. */
const GROWTH = 1.25
const ROUNDS_WITHOUT_GROWTH = 2

/** What had been delivered when something left. */
export type Departure = number

export class DeliveryRate {
  readonly #now: () => number
  #delivered = 0
  #rounds: { readonly at: number; readonly bytesPerMs: number }[] = []
  #began: { readonly at: number; readonly delivered: number } | undefined
  #reached = 0
  #withoutGrowth = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** 0 when nothing is known yet. */
  get bytesPerMs(): number {
    return Math.max(0, ...this.#rounds.map((round) => round.bytesPerMs))
  }

  /** @param first - nothing else is under way: the time without anything belongs to no round. */
  depart(first: boolean): Departure {
    if (first || this.#began === undefined) this.#began = { at: this.#now(), delivered: this.#delivered }
    return this.#delivered
  }

  /**
   * @param bytes - that were moved.
   * @param full - as much was under way as was allowed.
   * @returns at the end of a round, whether the rate still grows; it does not when some rounds brought nothing.
   */
  arrive(departure: Departure, bytes: number, full: boolean): 'growing' | 'reached' | undefined {
    this.#delivered += bytes
    const now = this.#now()
    const began = this.#began ?? { at: now, delivered: this.#delivered }
    const tookMs = now - began.at
    if (tookMs < SHORTEST_ROUND_MS || (departure < began.delivered && tookMs < LONGEST_ROUND_MS))
      return undefined
    const bytesPerMs = (this.#delivered - began.delivered) / tookMs
    this.#began = { at: now, delivered: this.#delivered }
    if (!full && bytesPerMs < this.bytesPerMs) return undefined
    this.#rounds = [...this.#rounds.filter(({ at }) => now - at < REMEMBERED_MS), { at: now, bytesPerMs }]
    return this.#compare(bytesPerMs)
  }

  #compare(bytesPerMs: number): 'growing' | 'reached' {
    if (bytesPerMs >= this.#reached * GROWTH) {
      this.#reached = bytesPerMs
      this.#withoutGrowth = 0
      return 'growing'
    }
    this.#withoutGrowth += 1
    return this.#withoutGrowth >= ROUNDS_WITHOUT_GROWTH ? 'reached' : 'growing'
  }
}
