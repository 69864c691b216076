/**
 * Names that are not UTF-8. SFTP carries their bytes, but callers see U+FFFD for what cannot be read and come
 * back with that: here it is found out which name they mean. Where that cannot be known, none is taken.
 */
import { UNREADABLE, shownName } from '../../base/name-bytes.ts'
import { REMOTE_ROOT, childOf, segmentsOf, type RemotePath } from '../../base/remote-path.ts'
import type { SftpChannel } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import type { MachineSession } from '../session.ts'
import { FileError, isAbsent } from './errors.ts'
import { readEntries } from './list.ts'

/** True for a path that may stand for another one, with bytes that are not UTF-8. */
export function mayBeShown(path: RemotePath): boolean {
  return path.includes(UNREADABLE)
}

/**
 * The path whose name reads like this one. A name that is there as it is given is meant; so is one that
 * nothing reads like, since it may be about to be made.
 * @throws FileError `bad-name` when several names read alike.
 */
export async function exactPath(
  session: MachineSession,
  path: RemotePath,
  shown: string,
  signal?: AbortSignal,
): Promise<RemotePath> {
  if (!mayBeShown(path)) return path
  const sftp = await session.sftp(signal)
  let exact = REMOTE_ROOT
  for (const segment of segmentsOf(path)) {
    const child = childOf(exact, segment)
    if (!segment.includes(UNREADABLE) || (await isThere(sftp, child, signal))) {
      exact = child
      continue
    }
    const [name, ...more] = await readingLike(sftp, exact, segment, signal)
    if (more.length > 0) {
      const why = `${more.length + 1} names there read alike, because they are not UTF-8; rename all but one of them`
      throw new FileError(`cannot resolve "${shown}": ${why}`, 'bad-name', { machine: session.machine })
    }
    exact = name === undefined ? child : childOf(exact, name)
  }
  return exact
}

async function readingLike(
  sftp: SftpChannel,
  folder: RemotePath,
  shown: string,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  try {
    const entries = await readEntries(sftp, folder, signal)
    return entries.map((entry) => entry.name).filter((name) => shownName(name) === shown)
  } catch (error) {
    // It is not there, no folder, or not for us: whoever goes on with the name as it is hears which.
    if (error instanceof SftpStatusError) return []
    throw error
  }
}

async function isThere(
  sftp: SftpChannel,
  path: RemotePath,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    await sftp.lstat(path, signal)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}
