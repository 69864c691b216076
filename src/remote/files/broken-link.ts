/**
 * Symbolic links that an SFTP server does not follow to their end, followed step by step: those that lead
 * nowhere, because it says "no such file" for all reasons alike, and chains that are longer than its own
 * `realpath` has patience for.
 */
import { parentOf, type RemotePath } from '../../base/remote-path.ts'
import type { SftpChannel } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import { isAbsent } from './errors.ts'
import { typeOf, type FileType } from './stat.ts'

/** As many links as Linux follows for one path (path_resolution(7)). */
const MOST_LINKS = 40

export type Nowhere =
  /** What it names does not exist. */
  | 'absent'
  /** It names something below what is no folder. */
  | 'below-a-file'
  /** It leads to itself, or through too many links. */
  | 'loop'

/** @throws SftpStatusError; LinkLostError. */
export async function whyLinkLeadsNowhere(
  sftp: SftpChannel,
  link: RemotePath,
  signal?: AbortSignal,
): Promise<Nowhere> {
  // Not folded: a way up behind a link leads up from where that link leads.
  let path = beside(link, await sftp.readlink(link, signal))
  for (let followed = 1; followed <= MOST_LINKS; followed += 1) {
    const names = path.split('/').filter((name) => name !== '' && name !== '.')
    const prefixes = names.map((_name, index) => `/${names.slice(0, index).join('/')}`)
    const types = await Promise.all(prefixes.map((prefix) => typeThere(sftp.stat(prefix, signal))))
    const depth = types.findLastIndex((type) => type !== undefined)
    const folder = prefixes[depth]
    const name = names[depth]
    if (folder === undefined || name === undefined) return 'absent'
    if (types[depth] !== 'directory') return 'below-a-file'
    const entry = `${folder === '/' ? '' : folder}/${name}`
    if ((await typeThere(sftp.lstat(entry, signal))) !== 'symlink') return 'absent'
    const rest = names.slice(depth + 1).map((one) => `/${one}`)
    path = `${beside(entry, await sftp.readlink(entry, signal))}${rest.join('')}`
  }
  return 'loop'
}

/** Where a chain of links ends that the server can open but not name; undefined when it cannot be told. */
export async function behindLinks(
  sftp: SftpChannel,
  link: RemotePath,
  signal?: AbortSignal,
): Promise<RemotePath | undefined> {
  let path: string = link
  for (let followed = 1; followed <= MOST_LINKS; followed += 1) {
    try {
      path = beside(path, await sftp.readlink(path, signal))
      return (await sftp.realpath(path, signal)) as RemotePath
    } catch (error) {
      // What is no link any more cannot be read as one.
      if (!(error instanceof SftpStatusError)) throw error
      if (error.operation === 'readlink') return undefined
    }
  }
  return undefined
}

function beside(link: string, target: string): string {
  return target.startsWith('/') ? target : `${parentOf(link as RemotePath)}/${target}`
}

async function typeThere(stat: Promise<{ readonly mode: number }>): Promise<FileType | undefined> {
  try {
    return typeOf((await stat).mode)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}
