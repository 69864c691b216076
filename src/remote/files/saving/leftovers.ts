/**
 * What a save may have left on a machine, because the link died before it could be put right: temporary
 * files, and old files that were moved aside. It is put right at the first use of the next connection.
 */
import type { RemotePath } from '../../../base/remote-path.ts'
import type { SftpChannel } from '../../../ssh/channel/sftp.ts'
import { PresenceError } from '../../../base/failure.ts'
import type { MachineSession } from '../../session.ts'
import { isAbsent } from '../errors.ts'

interface Leftover {
  /** Whose work it was: only a later connection may think it abandoned. */
  readonly session: MachineSession
  /** The name that an old file goes back to when nothing is there; undefined for a temporary file. */
  readonly home: RemotePath | undefined
}

export class Leftovers {
  readonly #left = new Map<RemotePath, Leftover>()
  readonly #sweeps = new WeakMap<MachineSession, Promise<void>>()

  /** Remove a file now, or remember it for the next connection when that is impossible. */
  async remove(session: MachineSession, path: RemotePath): Promise<void> {
    await this.expect(session, path, undefined).settle()
  }

  /**
   * Something is about to lie at `path` for a moment: a temporary file, or the old file of `home`. From now on the next connection puts it right.
   * `settle` puts it right now: back home when nothing is there, otherwise away. `forget`: there is nothing.
   */
  expect(
    session: MachineSession,
    path: RemotePath,
    home: RemotePath | undefined,
  ): { settle(): Promise<void>; forget(): void } {
    const leftover = { session, home }
    this.#left.set(path, leftover)
    return {
      settle: () => this.#settle(session, path, leftover),
      forget: () => {
        if (this.#left.get(path) === leftover) this.#left.delete(path)
      },
    }
  }

  /** Put right what earlier connections had to leave behind; once a connection, and everybody waits for it. */
  sweep(session: MachineSession): Promise<void> {
    const earlier = [...this.#left].filter(([, leftover]) => leftover.session !== session)
    const running = this.#sweeps.get(session) ?? Promise.resolve()
    if (earlier.length === 0) return running
    const settling = earlier.map(([path, { home }]) => this.expect(session, path, home).settle())
    const sweep = Promise.all([running, ...settling]).then(() => undefined)
    this.#sweeps.set(session, sweep)
    return sweep
  }

  async #settle(session: MachineSession, path: RemotePath, leftover: Leftover): Promise<void> {
    try {
      const sftp = await session.sftp()
      if (leftover.home === undefined || (await isThere(sftp, leftover.home))) await sftp.removeFile(path)
      else await sftp.rename(path, leftover.home)
    } catch (error) {
      if (!(error instanceof PresenceError)) throw error
      // It stays in the list, for the next connection to try.
      if (!isAbsent(error)) return
    }
    if (this.#left.get(path) === leftover) this.#left.delete(path)
  }
}

async function isThere(sftp: SftpChannel, path: RemotePath): Promise<boolean> {
  try {
    await sftp.lstat(path)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}
