/**
 * The clock of a file system, which stamps in steps of some milliseconds: what is changed twice within one
 * step is not told apart by its times. It changes nothing but its own file.
 */
import { statSync, writeFileSync } from 'node:fs'

export class Clock {
  readonly #probe: string
  #marked: bigint

  /** @param probe - a file for its own use on that file system. */
  constructor(probe: string) {
    this.#probe = probe
    this.#marked = this.#stamp()
  }

  /** Something may just have been changed. */
  mark(): void {
    this.#marked = this.#stamp()
  }

  /** Wait until a change has another time than all that were made before the mark. */
  async tick(): Promise<void> {
    while (this.#stamp() === this.#marked) await new Promise((resume) => setTimeout(resume, 1))
  }

  #stamp(): bigint {
    writeFileSync(this.#probe, '')
    return statSync(this.#probe, { bigint: true }).ctimeNs
  }
}
