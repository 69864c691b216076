/** Why a file system takes no change, when the server says nothing but "failure" (SFTP version 3 has no more). */
import { parentOf, type RemotePath } from '../../../base/remote-path.ts'
import { PresenceError } from '../../../base/failure.ts'
import type { SftpChannel, Volume } from '../../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../../ssh/errors.ts'
import type { MachineSession } from '../../session.ts'
import { isAbsent } from '../errors.ts'

/** The file system takes no change; the message says why. */
export class VolumeError extends Error {}

/**
 * To be called while what was begun still lies there: a disk that is full is not, once it is removed.
 * @returns a VolumeError in place of a failure that the file system explains, otherwise the same error.
 */
export async function explainedByVolume(
  error: unknown,
  session: MachineSession,
  path: RemotePath,
): Promise<unknown> {
  if (!(error instanceof SftpStatusError) || error.status !== 'failure') return error
  const reason = await reasonOf(session, path)
  return reason === undefined ? error : new VolumeError(reason, { cause: error })
}

/** The reason in words, or undefined when the file system is not it or the server cannot tell. */
async function reasonOf(session: MachineSession, path: RemotePath): Promise<string | undefined> {
  try {
    const volume = await volumeOf(await session.sftp(), parentOf(path))
    if (volume.readOnly) return 'the file system there is read-only'
    if (volume.freeBlocks === 0) return 'the disk there is full; free some space on the machine'
    if (volume.files > 0 && volume.freeFiles === 0)
      return 'the disk there has no room for another file (inodes)'
    return undefined
  } catch (error) {
    // It is only an explanation: without it the failure is told as the server told it.
    if (error instanceof PresenceError) return undefined
    throw error
  }
}

/** Of the nearest folder that is there: those that were to be made are not. */
async function volumeOf(sftp: SftpChannel, folder: RemotePath): Promise<Volume> {
  try {
    return await sftp.volume(folder)
  } catch (error) {
    if (!isAbsent(error) || folder === '/') throw error
    return volumeOf(sftp, parentOf(folder))
  }
}
