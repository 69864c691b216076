/** All machine connections of one process: one object a machine, closed together, idle ones closed early. */
import { Emitter } from '../../base/emitter.ts'
import type { ConnectDependencies } from './attempt.ts'
import { MachineConnection, type ConnectionState } from './machine-connection.ts'

const IDLE_CLOSE_MS = 15 * 60_000
const IDLE_CHECK_MS = 60_000

export class ConnectionPool {
  readonly changes = new Emitter<{ readonly machine: string; readonly state: ConnectionState }>()
  readonly #dependencies: ConnectDependencies
  readonly #connections = new Map<string, MachineConnection>()
  readonly #idleCheck: NodeJS.Timeout

  constructor(dependencies: ConnectDependencies) {
    this.#dependencies = dependencies
    this.#idleCheck = setInterval(() => {
      for (const connection of this.#connections.values()) connection.closeIfIdle(IDLE_CLOSE_MS)
    }, IDLE_CHECK_MS)
    this.#idleCheck.unref()
  }

  /** The connection object of a machine; making it connects to nothing. */
  connection(machine: string): MachineConnection {
    const existing = this.#connections.get(machine)
    if (existing !== undefined) return existing
    const made = new MachineConnection(machine, this.#dependencies)
    made.changes.on((state) => this.changes.emit({ machine, state }))
    this.#connections.set(machine, made)
    return made
  }

  close(): void {
    clearInterval(this.#idleCheck)
    for (const connection of this.#connections.values()) connection.close()
  }
}
