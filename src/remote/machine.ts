/**
 * One machine as the rest of Presence sees it: a session when it is needed, and the state of the line
 * without touching it.
 */
import { SharedAttempt } from '../base/shared-attempt.ts'
import type { Hurry, MachineConnection } from '../ssh/connection/machine-connection.ts'
import { MachineSession } from './session.ts'

/** Measured: a process start on a slow machine takes 3 to 5 ms, and a question takes two to five of them. */
const FAR_FROM_MS = 10

export class Machine {
  readonly name: string
  readonly connection: MachineConnection
  /** From that long a round trip, in milliseconds, questions to its shell beat several requests. */
  farFromMs = FAR_FROM_MS
  readonly #beginning: SharedAttempt<MachineSession>
  #session: MachineSession | undefined

  constructor(connection: MachineConnection) {
    this.name = connection.machine
    this.connection = connection
    this.#beginning = new SharedAttempt(`opening a session on ${this.name}`, async (signal) => {
      const link = await this.connection.link(signal)
      const session = await MachineSession.begin(this.connection, link, signal)
      this.#session = session
      return session
    })
  }

  /** The session of the live link, if there is one now. */
  get current(): MachineSession | undefined {
    return this.#session?.link.alive === true ? this.#session : undefined
  }

  /** The live session, connecting and probing first when there is none. */
  async session(signal?: AbortSignal, hurry: Hurry = 'now'): Promise<MachineSession> {
    const current = this.current
    if (current !== undefined) {
      current.link.touch()
      return current
    }
    // A background question must not begin an attempt that is not due; the check throws for it.
    if (hurry !== 'now') await this.connection.link(signal, hurry)
    return this.#beginning.join(signal)
  }

  /**
   * The session of the live link, probing first where nobody has; undefined while there is no link. Neither
   * connects nor counts as a use of the connection.
   */
  async sessionIfConnected(signal?: AbortSignal): Promise<MachineSession | undefined> {
    if (this.current !== undefined) return this.current
    return this.connection.current === undefined ? undefined : this.#beginning.join(signal)
  }
}
