/** A wait that can be cut short; a ring that comes while nobody waits is heard at the next wait. */
import { pause } from '../../../base/race.ts'

/** Node's timers know no longer time. */
const LONGEST_MS = 2 ** 31 - 1

class Rung extends Error {}

export class Alarm {
  #ringing = new AbortController()

  ring(): void {
    this.#ringing.abort(new Rung())
  }

  /** Until the time is up (in milliseconds; may be infinite), it rings, or `ended` fires. Holds no process. */
  async wait(ms: number, ended: AbortSignal): Promise<void> {
    const rung = (): Error => new Rung()
    try {
      await pause(Math.min(Math.max(ms, 0), LONGEST_MS), [
        { signal: this.#ringing.signal, error: rung },
        { signal: ended, error: rung },
      ])
    } catch (error) {
      if (!(error instanceof Rung)) throw error
    }
    this.#ringing = new AbortController()
  }
}
