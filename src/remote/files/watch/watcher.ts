/** Who watches what on one machine: watches of one path share what was seen, and all share the rounds. */
import { CancelledError, messageOf } from '../../../base/failure.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { Machine } from '../../machine.ts'
import type { MachineSession } from '../../session.ts'
import type { Shown } from '../read.ts'
import { firstLook } from './look.ts'
import { Patrol } from './patrol.ts'
import { failureFor, tell, WatchedPath, type Listener } from './watched-path.ts'

export class Watcher {
  readonly #machine: Machine
  readonly #paths = new Map<RemotePath, WatchedPath>()
  #patrol: Patrol | undefined

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /**
   * Watch a file, a folder with its direct entries, or what is not there yet.
   * @param changed - called when it is different; with an error when it cannot be looked at any more.
   * @param signal - cancels the beginning only.
   * @returns the end of the watch; it resolves when nothing of the watch is left, here and on the machine.
   * @throws FileError when the machine does not let us look; LinkLostError, ChannelError, CancelledError.
   */
  async begin(
    session: MachineSession,
    { path, shown }: Shown,
    changed: (error?: Error) => void,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    const listener: Listener = { shown, changed }
    const look = await firstLook(session, path, signal)
    if (signal.aborted) throw new CancelledError('watch', signal.reason)
    if (look.now.kind === 'refused') throw failureFor(listener, look.now.error)
    if (look.contents?.kind === 'refused') throw failureFor(listener, look.contents.error)
    const known = this.#paths.get(path)
    // Those who watch it already hear what has changed since they looked.
    known?.take(look)
    const watched = known ?? new WatchedPath(path, look)
    watched.listeners.add(listener)
    this.#paths.set(path, watched)
    this.#patrol ??= new Patrol(this.#machine, this.#paths, (error) => this.#fail(error))
    this.#patrol.joined()
    return () => this.#end(watched, listener)
  }

  async #end(watched: WatchedPath, listener: Listener): Promise<void> {
    watched.listeners.delete(listener)
    if (watched.listeners.size === 0 && this.#paths.get(watched.path) === watched) {
      this.#paths.delete(watched.path)
    }
    if (this.#paths.size > 0) return
    const patrol = this.#patrol
    this.#patrol = undefined
    await patrol?.stop()
  }

  /** A fault of ours: nobody is told of changes any more, so everybody is told of that. */
  #fail(error: unknown): void {
    const failure = error instanceof Error ? error : new Error(messageOf(error))
    this.#patrol = undefined
    for (const watched of [...this.#paths.values()]) {
      for (const listener of watched.listeners) tell(listener, failure)
    }
    this.#paths.clear()
  }
}
