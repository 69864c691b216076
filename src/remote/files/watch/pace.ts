/** How long to wait for the next look: longer while nothing happens, short again when something did. */

const STEP = 1.5

export class Pace {
  readonly #shortest: number
  #ms: number

  /** Milliseconds. */
  constructor(shortest: number) {
    this.#shortest = shortest
    this.#ms = shortest
  }

  get ms(): number {
    return this.#ms
  }

  /** Half as long again, at most `longest` milliseconds. */
  slower(longest: number): void {
    this.#ms = Math.min(this.#ms * STEP, longest)
  }

  quick(): void {
    this.#ms = this.#shortest
  }
}
