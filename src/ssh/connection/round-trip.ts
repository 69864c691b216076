/**
 * How far away a machine is: the shortest time that a small question took lately. Learnt from the questions
 * that are asked anyway, and therefore known before the first file is read.
 */

/** A line that has become longer is known as such after at most twice this time, in milliseconds. */
const LATELY_MS = 30_000

export class RoundTrip {
  readonly #now: () => number
  #before = Infinity
  #lately = Infinity
  #since: number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#since = now()
  }

  /** A small question had its answer after so many milliseconds. */
  note(ms: number): void {
    const now = this.#now()
    if (now - this.#since > LATELY_MS) {
      this.#before = now - this.#since > 2 * LATELY_MS ? Infinity : this.#lately
      this.#lately = Infinity
      this.#since = now
    }
    this.#lately = Math.min(this.#lately, ms)
  }

  /** Milliseconds; undefined before the first answer. */
  get ms(): number | undefined {
    const shortest = Math.min(this.#before, this.#lately)
    return shortest === Infinity ? undefined : shortest
  }
}
