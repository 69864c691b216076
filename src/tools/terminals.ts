/** The terminals of every agent, by name. Owns them: they end with their agent, and all with Presence. */
import { CancelledError } from '../base/failure.ts'
import { LinkLostError } from '../ssh/errors.ts'
import type { NamedTerminal } from './named-terminal.ts'

/** Terminals an agent may hold at once; a model that forgets them would fill the machine. */
export const MOST_TERMINALS = 8

export class Terminals {
  readonly #owned = new Map<object, Map<string, NamedTerminal | 'starting'>>()

  get(owner: object, name: string): NamedTerminal | undefined {
    const terminal = this.#owned.get(owner)?.get(name)
    return terminal === 'starting' ? undefined : terminal
  }

  list(owner: object): NamedTerminal[] {
    return [...(this.#owned.get(owner)?.values() ?? [])].filter((terminal) => terminal !== 'starting')
  }

  /**
   * Open one under a name. Ended ones make room.
   * @returns `taken` when a running one has the name, `full` when the most are open.
   */
  async open(
    owner: object,
    name: string,
    start: () => Promise<NamedTerminal>,
  ): Promise<NamedTerminal | 'taken' | 'full'> {
    const terminals = this.#owned.get(owner) ?? new Map<string, NamedTerminal | 'starting'>()
    this.#owned.set(owner, terminals)
    const present = terminals.get(name)
    if (present !== undefined && (present === 'starting' || present.end === undefined)) return 'taken'
    if (present === undefined && terminals.size >= MOST_TERMINALS) {
      const ended = [...terminals].find(([, other]) => other !== 'starting' && other.end !== undefined)
      if (ended === undefined) return 'full'
      terminals.delete(ended[0])
    }
    terminals.set(name, 'starting')
    try {
      const terminal = await start()
      // The agent may have gone meanwhile.
      if (this.#owned.get(owner) !== terminals) {
        await endOf(terminal)
        throw new CancelledError('opening the terminal')
      }
      terminals.set(name, terminal)
      return terminal
    } catch (error) {
      terminals.delete(name)
      throw error
    }
  }

  /** End a terminal and forget it. @throws LinkLostError never: with its link it is gone. */
  async close(owner: object, name: string): Promise<void> {
    const terminal = this.get(owner, name)
    if (terminal === undefined) return
    await endOf(terminal)
    this.#owned.get(owner)?.delete(name)
  }

  /** End all terminals of an agent. Failures are not the agent's any more. */
  async closeAll(owner: object): Promise<void> {
    const terminals = this.list(owner)
    this.#owned.delete(owner)
    await Promise.allSettled(terminals.map((terminal) => endOf(terminal)))
  }

  async closeEverything(): Promise<void> {
    await Promise.all([...this.#owned.keys()].map((owner) => this.closeAll(owner)))
  }
}

async function endOf(terminal: NamedTerminal): Promise<void> {
  try {
    await terminal.remote.terminate()
  } catch (error) {
    if (!(error instanceof LinkLostError)) throw error
  }
}
