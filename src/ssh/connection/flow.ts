/**
 * How much of bulk data is under way at once in one direction of a connection, so that the line is full and
 * small requests do not wait behind it. What is more than the line holds would wait somewhere for it: in our
 * own socket, in the kernel, in the server; a small question waits there too. All transfers of a connection
 * share one `Flow` for each direction. It moves nothing itself.
 *
 * While something is under way, small questions are asked to see whether they are answered as fast as ever.
 * As long as they are, more is let under way; when they are not, less.
 */
import { CancelledError } from '../../base/failure.ts'
import { DeliveryRate, type Departure } from './delivery-rate.ts'

/** Before anything is known of the line; a file of this size takes one flight. */
const FIRST_BYTES = 1024 * 1024
const LEAST_BYTES = 64 * 1024
const MOST_BYTES = 4 * 1024 * 1024
/** A longer line holds more: these for each millisecond, so that 80 MiB go in a second, and this at most. */
const MOST_BYTES_EACH_MS = 80 * 1024
const MOST_BYTES_EVER = 8 * 1024 * 1024
/** Of one request. */
const FIRST_PIECE = 128 * 1024
const LEAST_PIECE = 32 * 1024
/** What is under way should be several of them, but not many. */
const LEAST_PIECES = 4
const MOST_PIECES = 24
/** A small question waits for the piece that is being sent: no longer than these milliseconds. */
const PIECE_MS = 5
/** Between two questions, in milliseconds. */
const PAUSE_MS = 30
/** How much longer a small question may take than on an empty line: a part of that, or these milliseconds. */
const SHARE_OF_WAITING = 0.15
const LEAST_WAITING_MS = 10
/** The middle one of so many counts: other work on either side disturbs a single one. */
const QUESTIONS = 3
const FAST_GROWTH = 1.25
const GROWTH = 1.05
const SHRINKING = 0.85
/** Of what the line holds. Less would not help: then it is not us that they wait for. */
const LEAST_SHARE = 0.7

/** What a flow takes from its connection. */
export interface FlowLine {
  /** How long a small question takes when nothing else is under way; undefined when that is not known yet. */
  roundTripMs(): number | undefined
  /** Ask one now. @returns milliseconds. @throws when the line is dead. */
  ask(): Promise<number>
  now(): number
  pause(ms: number): Promise<void>
}

/** Bytes that are under way. */
export interface Passage {
  /** The answer is there, or will not come: to be called once. @param bytes - that were really moved. */
  over(bytes: number): void
}

interface Waiting {
  readonly bytes: number
  readonly go: () => void
}

export class Flow {
  readonly #line: FlowLine
  readonly #rate: DeliveryRate
  readonly #waiting: Waiting[] = []
  #limit = FIRST_BYTES
  #underWay = 0
  /** The rate still grows from round to round: the line's own is not reached yet. */
  #starting = true
  /** A small question was never late: the bound may grow fast. */
  #untouched = true
  /** Somebody had to wait since the last look: it is the bound that bounds. */
  #bounding = false
  #asking = false
  /** What the last questions took, in milliseconds. */
  #took: number[] = []

  constructor(line: FlowLine) {
    this.#line = line
    this.#rate = new DeliveryRate(() => line.now())
  }

  /** Bytes that may be under way now. */
  get limit(): number {
    return this.#limit
  }

  get underWay(): number {
    return this.#underWay
  }

  /** Bytes that one request should move. */
  get piece(): number {
    const rate = this.#rate.bytesPerMs
    const wanted = rate === 0 ? FIRST_PIECE : PIECE_MS * rate
    const share = (parts: number): number => this.#limit / parts
    return Math.floor(Math.max(LEAST_PIECE, share(MOST_PIECES), Math.min(wanted, share(LEAST_PIECES))))
  }

  /**
   * Wait until so many bytes may go.
   * @throws CancelledError when `signal` fires.
   */
  async enter(bytes: number, signal?: AbortSignal): Promise<Passage> {
    if (signal?.aborted === true) throw new CancelledError('a transfer', signal.reason)
    if (this.#waiting.length > 0 || !this.#fits(bytes)) {
      this.#bounding = true
      await this.#turn(bytes, signal)
    } else this.#underWay += bytes
    this.#watch()
    return this.#passage(bytes, this.#rate.depart(this.#underWay === bytes))
  }

  #passage(bytes: number, departure: Departure): Passage {
    let isOver = false
    return {
      over: (moved) => {
        if (isOver) return
        isOver = true
        this.#underWay -= bytes
        const rate = this.#rate.arrive(departure, moved, this.#bounding)
        if (this.#starting && rate !== undefined) this.#start(rate)
        this.#admit()
      },
    }
  }

  /** One can always go: a bound below one request would stop everything. */
  #fits(bytes: number): boolean {
    return this.#underWay === 0 || this.#underWay + bytes <= this.#limit
  }

  #turn(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(new CancelledError('a transfer', signal?.reason))
        // Smaller ones behind it may fit.
        this.#admit()
      }
      const go = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const waiting = { bytes, go }
      this.#waiting.push(waiting)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  #admit(): void {
    for (;;) {
      const [next] = this.#waiting
      if (next === undefined || !this.#fits(next.bytes)) return
      this.#waiting.shift()
      this.#underWay += next.bytes
      next.go()
    }
  }

  /** The line's own rate is not known: twice as much as went in a round trip, until that helps no more. */
  #start(rate: 'growing' | 'reached'): void {
    if (rate === 'reached') {
      this.#starting = false
      this.#limit = this.#bounded(this.#fill())
    } else this.#limit = Math.max(this.#limit, this.#bounded(2 * this.#fill()))
  }

  /** What the line holds, and what may wait for it. */
  #fill(): number {
    return this.#rate.bytesPerMs * (this.#roundTripMs + this.#allowedMs)
  }

  get #roundTripMs(): number {
    return this.#line.roundTripMs() ?? 0
  }

  get #allowedMs(): number {
    return Math.max(LEAST_WAITING_MS, SHARE_OF_WAITING * this.#roundTripMs)
  }

  #watch(): void {
    if (this.#asking) return
    this.#asking = true
    void this.#askAgainAndAgain().finally(() => (this.#asking = false))
  }

  async #askAgainAndAgain(): Promise<void> {
    while (this.#underWay > 0) {
      try {
        this.#judge(await this.#line.ask())
      } catch (_theTransfersHearOfIt: unknown) {
        return
      }
      await this.#line.pause(PAUSE_MS)
    }
  }

  /** A small question took so long. */
  #judge(ms: number): void {
    if (this.#starting) return
    this.#took = [...this.#took.slice(1 - QUESTIONS), ms]
    const middle = this.#took.toSorted((a, b) => a - b)[Math.floor((this.#took.length - 1) / 2)] ?? ms
    const waitedMs = middle - this.#roundTripMs
    if (waitedMs > this.#allowedMs) {
      this.#untouched = false
      // Those that were asked before do not know of it.
      this.#took = []
      this.#limit = this.#bounded(Math.max(SHRINKING * this.#limit, LEAST_SHARE * this.#fill()))
    } else if (this.#bounding && waitedMs < this.#allowedMs / 2) {
      this.#limit = this.#bounded(
        Math.max((this.#untouched ? FAST_GROWTH : GROWTH) * this.#limit, LEAST_SHARE * this.#fill()),
      )
    }
    this.#bounding = this.#waiting.length > 0
    this.#admit()
  }

  #bounded(bytes: number): number {
    const most = Math.max(MOST_BYTES, Math.min(MOST_BYTES_EVER, MOST_BYTES_EACH_MS * this.#roundTripMs))
    return Math.min(most, Math.max(LEAST_BYTES, Math.floor(bytes)))
  }
}
