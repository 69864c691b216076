/**
 * Metadata of a path, with a version token that changes whenever the file does.
 *
 * SFTP version 3 knows times in whole seconds and no inode, so where the machine runs commands the
 * helper shell's `stat` is asked in the same flight for device, inode and nanoseconds. Without it the
 * token is made of what SFTP knows, and `ContentMemory` covers what that cannot see.
 */
import { quote } from '../../base/shell-word.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import { PresenceError } from '../../base/failure.ts'
import type { FileAttributes } from '../../ssh/channel/sftp.ts'
import { ChannelError } from '../../ssh/errors.ts'
import type { MachineSession } from '../session.ts'
import { isAbsent } from './errors.ts'

export type FileType = 'file' | 'directory' | 'symlink' | 'other'

export interface FileStat {
  readonly type: FileType
  readonly size: number
  /** Permission bits, without the type. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Compares for equality only. Exact ones begin with `x`, those of SFTP alone with `s`. */
  readonly version: string
}

const TYPE_BITS = 0o170000
const TYPES: Readonly<Record<number, FileType>> = {
  0o100000: 'file',
  0o040000: 'directory',
  0o120000: 'symlink',
}

export function typeOf(mode: number): FileType {
  return TYPES[mode & TYPE_BITS] ?? 'other'
}

/**
 * @param follow - through a final symbolic link, or the link itself.
 * @returns undefined when nothing is there.
 * @throws SftpStatusError, LinkLostError, ChannelError.
 */
export async function statPath(
  session: MachineSession,
  path: RemotePath,
  follow: boolean,
  signal?: AbortSignal,
): Promise<FileStat | undefined> {
  const sftp = await session.sftp(signal)
  const exact = exactVersion(session, path, follow, signal)
  let attributes: FileAttributes
  try {
    attributes = await (follow ? sftp.stat(path, signal) : sftp.lstat(path, signal))
  } catch (error) {
    await exact
    if (isAbsent(error)) return undefined
    throw error
  }
  const version = await exact
  return {
    type: typeOf(attributes.mode),
    size: attributes.size,
    mode: attributes.mode & 0o7777,
    uid: attributes.uid,
    gid: attributes.gid,
    version: version ?? plainVersion(attributes),
  }
}

function plainVersion(attributes: FileAttributes): string {
  const { size, mtime, mode, uid, gid } = attributes
  return `s:${size}:${mtime}:${mode.toString(8)}:${uid}:${gid}`
}

/** The helper's token, or undefined where the machine has no helper or no telling `stat`. */
async function exactVersion(
  session: MachineSession,
  path: RemotePath,
  follow: boolean,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const flavour = session.shell?.stat
  if (flavour !== 'gnu' && flavour !== 'bsd') return undefined
  const word = quote(path)
  const format = flavour === 'gnu' ? `-c '%d:%i:%s:%.9Y:%.9Z:%f'` : `-f '%d:%i:%z:%Fm:%Fc:%Xp'`
  const there = follow ? `[ -e ${word} ]` : `[ -e ${word} ] || [ -h ${word} ]`
  try {
    const helper = await session.helper(signal)
    const answer = await helper.run(
      `{ ${there}; } && stat ${follow ? '-L ' : ''}${format} -- ${word}`,
      signal,
    )
    const token = answer.output.toString('latin1').trim()
    return answer.status === 0 && token !== '' ? `x:${token}` : undefined
  } catch (error) {
    // No channel for a helper (MaxSessions 1): SFTP's own token has to do. A dead link fails the SFTP half too.
    if (error instanceof ChannelError || (error instanceof PresenceError && error.family === 'transport')) {
      return undefined
    }
    throw error
  }
}
