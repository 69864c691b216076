/**
 * A temporary file that is made in the flight in which it is looked whether it will be wanted: empty, for its owner
 * only, and of a name that nothing has. Nothing is written to it before the look has said that the path still
 * leads there; it is removed when the look says otherwise.
 */
import type { RemotePath } from '../../../base/remote-path.ts'
import type { SftpHandle } from '../../../ssh/channel/sftp.ts'
import { PresenceError } from '../../../base/failure.ts'
import { SftpStatusError } from '../../../ssh/errors.ts'
import type { MachineSession } from '../../session.ts'
import { takeLane, type Lane } from '../transfer/lane.ts'
import type { Leftovers } from './leftovers.ts'
import { PRIVATE, learnOwner, temporaryBeside, type Begun } from './temporary.ts'

export class BegunTemporary implements Begun {
  readonly path: RemotePath
  /** For so many bytes as will be written. */
  readonly lane: Promise<Lane>
  readonly handle: Promise<SftpHandle>
  readonly #session: MachineSession
  readonly #leftovers: Leftovers
  #isTaken = false

  /** @param beside - the canonical path of the file that it may replace. @param bytes - few. */
  constructor(
    session: MachineSession,
    beside: RemotePath,
    bytes: number,
    leftovers: Leftovers,
    signal: AbortSignal | undefined,
  ) {
    this.path = temporaryBeside(beside)
    this.#session = session
    this.#leftovers = leftovers
    this.lane = takeLane(session, 'up', bytes, signal)
    this.handle = this.lane.then(async ({ sftp }) => {
      const making = sftp.createExclusively(this.path, PRIVATE, signal)
      making.catch((_thrownBelow: unknown) => undefined)
      await learnOwner(session, sftp, this.path)
      return making
    })
    // Heard by who takes it, or when it is given up.
    this.handle.catch((_heardLater: unknown) => undefined)
  }

  /** From now on it is the caller who fills and removes it. */
  take(): this {
    this.#isTaken = true
    return this
  }

  /** Remove it, unless it was taken. Never fails because of the machine: the next connection removes it then. */
  async giveUp(): Promise<void> {
    if (this.#isTaken) return
    this.#isTaken = true
    try {
      const handle = await this.handle
      const { sftp } = await this.lane
      sftp.close(handle).catch((_theFileIsRemoved: unknown) => undefined)
    } catch (error) {
      if (!(error instanceof PresenceError)) throw error
      // The server has said that it was not made; otherwise it may be.
      if (error instanceof SftpStatusError) return
    }
    await this.#leftovers.remove(this.#session, this.path)
  }
}
