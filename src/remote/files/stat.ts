/** Metadata of a path. Its version token is asked for in the same flight. */
import type { RemotePath } from '../../base/remote-path.ts'
import type { FileAttributes } from '../../ssh/channel/sftp.ts'
import type { MachineSession } from '../session.ts'
import { isAbsent } from './errors.ts'
import { exactVersion, plainVersion } from './versions.ts'

export type FileType = 'file' | 'directory' | 'symlink' | 'other'

export interface FileStat {
  readonly type: FileType
  readonly size: number
  /** Permission bits, without the type. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** See `versions.ts`; compares for equality only. */
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

/** What SFTP tells of a path. @param version - the exact token, where there is one. */
export function statOf(attributes: FileAttributes, version?: string): FileStat {
  const { mode, size, uid, gid } = attributes
  return {
    type: typeOf(mode),
    size,
    mode: mode & 0o7777,
    uid,
    gid,
    version: version ?? plainVersion(attributes),
  }
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
  exact.catch((_heardBelow: unknown) => undefined)
  let attributes: FileAttributes
  try {
    attributes = await (follow ? sftp.stat(path, signal) : sftp.lstat(path, signal))
  } catch (error) {
    await exact
    if (isAbsent(error)) return undefined
    throw error
  }
  return statOf(attributes, await exact)
}
