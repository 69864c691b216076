/**
 * How a background job waits for its machine to come back: attempts of its own at growing distances, not without
 * end, and never again one that only a person can help; whenever anybody else has connected, at once.
 */
import { diesWith, pause, race } from '../../base/race.ts'
import { messageOf } from '../../base/failure.ts'
import type { Link } from '../../ssh/connection/link.ts'
import { ConnectError, type SshErrorCode } from '../../ssh/errors.ts'
import type { Machine } from '../machine.ts'
import type { MachineSession } from '../session.ts'
import { OtherMachineError } from './errors.ts'

const FIRST_REST_MS = 250
const LONGEST_REST_MS = 60_000
/** That many attempts in a row are about half an hour. */
const MOST_ATTEMPTS = 40

/** These may be otherwise the next time without anybody's doing. */
const PASSING: ReadonlySet<SshErrorCode> = new Set(['unreachable', 'connect-timeout', 'not-ssh', 'crowded'])

export class Patience {
  readonly #machine: Machine
  #failures = 0
  #helpless = false
  #obstacle: string | undefined
  /** Leads to another machine than the job's. */
  #astray: Link | undefined

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** The live session, after a rest when the last attempts came to nothing. @throws ConnectError, CancelledError. */
  async session(signal: AbortSignal): Promise<MachineSession> {
    if (this.#failures > 0) await this.#rest(signal)
    return this.#machine.session(signal)
  }

  /** Why the machine is not tried any more, unless somebody connects; undefined while it is, or is there. */
  get obstacle(): string | undefined {
    return this.#obstacle
  }

  /** The machine is there. */
  reached(): void {
    this.#helpless = false
    this.#obstacle = undefined
    this.#astray = undefined
  }

  /** Something has come of it. */
  succeeded(): void {
    this.#failures = 0
  }

  failed(error?: unknown): void {
    this.#failures += 1
    if (error instanceof OtherMachineError) this.#astray = this.#machine.connection.current
    this.#helpless =
      error instanceof OtherMachineError || (error instanceof ConnectError && !PASSING.has(error.code))
    this.#obstacle = this.#helpless || this.#failures > MOST_ATTEMPTS ? messageOf(error) : undefined
  }

  async #rest(signal: AbortSignal): Promise<void> {
    const { connection } = this.#machine
    const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(this.#failures - 1, 20))
    const leaves = diesWith(signal)
    if (connection.current !== undefined && connection.current !== this.#astray) {
      await pause(restMs, [leaves])
      return
    }
    const back = Promise.withResolvers<void>()
    const forget = connection.changes.on(({ kind }) => {
      if (kind === 'ready') back.resolve()
    })
    try {
      const waits = [back.promise]
      if (!this.#helpless && this.#failures <= MOST_ATTEMPTS) waits.push(pause(restMs, [leaves]))
      await race(() => Promise.race(waits), [leaves])
    } finally {
      forget()
    }
  }
}
