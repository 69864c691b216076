/** How long each stage of a connection took, also of one that failed. */
import type { Stage } from '../../src/ssh/errors.ts'

export class Stopwatch {
  readonly #times: { stage: Stage; ms: number }[] = []
  #stage: Stage = 'config'
  #began = performance.now()
  #running = true

  get stage(): Stage {
    return this.#stage
  }

  get times(): readonly { readonly stage: Stage; readonly ms: number }[] {
    return this.#times
  }

  enter(stage: Stage): void {
    if (!this.#running || stage === this.#stage) return
    this.#record()
    this.#stage = stage
  }

  stop(): void {
    if (this.#running) this.#record()
    this.#running = false
  }

  #record(): void {
    const now = performance.now()
    this.#times.push({ stage: this.#stage, ms: Math.round((now - this.#began) * 10) / 10 })
    this.#began = now
  }
}
