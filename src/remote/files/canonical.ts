/**
 * The canonical spelling of a path: symbolic links resolved on the machine itself, so that every
 * spelling of one file has one identity. A path that does not exist yet keeps its missing rest below
 * its deepest existing ancestor.
 */
import { childOf, nameOf, parentOf, type RemotePath } from '../../base/remote-path.ts'
import type { FileAttributes, SftpChannel } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import type { MachineSession } from '../session.ts'
import { FileError, isAbsent } from './errors.ts'
import { behindLinks, whyLinkLeadsNowhere } from './broken-link.ts'
import { typeOf, type FileType } from './stat.ts'

export interface Canonical {
  readonly path: RemotePath
  /** What was seen there on the way, through links; undefined when nothing was. */
  readonly attributes: FileAttributes | undefined
}

/** What the machine says of one path. */
interface Look {
  readonly path: RemotePath
  readonly real: RemotePath | undefined
  /** Through links; undefined when nothing is there. */
  readonly attributes: FileAttributes | undefined
  readonly type: FileType | undefined
  /** Nothing may be known of it: a folder above may not be searched. */
  readonly denied: SftpStatusError | undefined
  /** Something is there by this name, perhaps a link to nothing. */
  readonly entry: FileType | undefined
}

/**
 * @param shown - the path as messages show it. @param mayBeNew - where nothing may be: the folder is looked at too.
 * @throws FileError `not-found` when an ancestor is a file, or a link leads to itself; SftpStatusError, among
 * others `permission-denied` when a folder above may not be searched; LinkLostError.
 */
export async function canonicalPath(
  session: MachineSession,
  path: RemotePath,
  shown: string,
  signal?: AbortSignal,
  mayBeNew = false,
): Promise<RemotePath> {
  return (await findCanonical(session, path, shown, signal, mayBeNew)).path
}

/** As `canonicalPath`. */
export async function findCanonical(
  session: MachineSession,
  path: RemotePath,
  shown: string,
  signal?: AbortSignal,
  mayBeNew = false,
): Promise<Canonical> {
  const sftp = await session.sftp(signal)
  const cannot = (why: string): FileError =>
    new FileError(`cannot resolve "${shown}": ${why}`, 'not-found', { machine: session.machine })
  // Servers differ in whether realpath accepts a missing last segment: only an existing one is believed.
  const folder = mayBeNew && path !== '/' ? lookAt(sftp, parentOf(path), signal) : undefined
  folder?.catch((_thrownWhereItIsNeeded: unknown) => undefined)
  const itself = await lookAt(sftp, path, signal)
  const { attributes } = itself
  if (itself.real !== undefined && itself.type !== undefined) return { path: itself.real, attributes }
  if (itself.type !== undefined && itself.entry === 'symlink') {
    const real = await behindLinks(sftp, path, signal)
    if (real !== undefined) return { path: real, attributes }
  }
  const looks = folder === undefined ? [itself] : [itself, await folder]
  if (!looks.some(isKnown)) {
    const above: RemotePath[] = []
    for (let at = path; at !== '/'; at = parentOf(at)) above.push(parentOf(at))
    const further = above.slice(looks.length - 1)
    looks.push(...(await Promise.all(further.map((ancestor) => lookAt(sftp, ancestor, signal)))))
  }
  const depth = looks.findIndex(isKnown)
  const deepest = looks[depth]
  if (deepest === undefined) return { path, attributes: undefined }
  if (deepest.denied !== undefined) throw deepest.denied
  if (deepest.type !== 'directory') throw cannot('a parent path segment is not a directory')
  const first = looks[depth - 1]
  if (first?.entry === 'symlink') {
    switch (await whyLinkLeadsNowhere(sftp, first.path, signal)) {
      case 'below-a-file':
        throw cannot('a parent path segment is not a directory')
      case 'loop':
        throw cannot('too many symbolic links, or one that leads to itself')
      case 'absent':
    }
  }
  const missing = looks
    .slice(0, depth)
    .map((look) => nameOf(look.path))
    .toReversed()
  return { path: missing.reduce(childOf, deepest.real ?? deepest.path), attributes: undefined }
}

/** It is there, or nothing may be known of it. */
function isKnown({ denied, real, type }: Look): boolean {
  return denied !== undefined || (real !== undefined && type !== undefined)
}

async function lookAt(sftp: SftpChannel, path: RemotePath, signal: AbortSignal | undefined): Promise<Look> {
  const [real, found, entry] = await Promise.all([
    orStatus(sftp.realpath(path, signal)),
    orStatus(sftp.stat(path, signal)),
    orStatus(sftp.lstat(path, signal)),
  ])
  return {
    path,
    real: typeof real === 'string' ? (real as RemotePath) : undefined,
    attributes: found instanceof SftpStatusError ? undefined : found,
    type: found instanceof SftpStatusError ? undefined : typeOf(found.mode),
    denied: found instanceof SftpStatusError && !isAbsent(found) ? found : undefined,
    entry: entry instanceof SftpStatusError ? undefined : typeOf(entry.mode),
  }
}

async function orStatus<T>(request: Promise<T>): Promise<T | SftpStatusError> {
  try {
    return await request
  } catch (error) {
    if (error instanceof SftpStatusError) return error
    throw error
  }
}
