/**
 * Why a symbolic link leads nowhere. An SFTP server says "no such file" for all reasons alike; the link is
 * followed step by step to tell them apart.
 */
import { parentOf, type RemotePath } from '../../base/remote-path.ts'
import type { SftpChannel } from '../../ssh/channel/sftp.ts'
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
