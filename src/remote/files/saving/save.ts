/**
 * Publishing new content: written to a temporary file beside the target, forced to the disk, and put in
 * place in one step, so that every reader sees the old content or the new and never less. The rules are
 * in docs/decisions/saving.md.
 */
import { parentOf, type RemotePath } from '../../../base/remote-path.ts'
import { CancelledError, PresenceError } from '../../../base/failure.ts'
import type { SftpChannel } from '../../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../../ssh/errors.ts'
import type { MachineSession } from '../../session.ts'
import { FileError, isAbsent } from '../errors.ts'
import type { BegunTemporary } from './begun-temporary.ts'
import type { Content } from './content.ts'
import type { Leftovers } from './leftovers.ts'
import { statPath, typeOf, type FileStat, type FileType } from '../stat.ts'
import { temporaryBeside, writeTemporary, type Outfit } from './temporary.ts'
import { explainedByVolume } from './volume.ts'

export interface Publication {
  readonly path: RemotePath
  readonly content: Content
  /** What the file that is replaced has; undefined for a new file, which only its owner may read. */
  readonly outfit: Outfit | undefined
  /** Refuse when something exists at the path, in the same step that would publish. */
  readonly onlyIfAbsent: boolean
  /** What has to be found out before it is published, at the same time as the temporary file is written. */
  readonly before?: (() => Promise<void>) | undefined
  /** Its temporary file, where that is being made already. */
  readonly begun?: BegunTemporary | undefined
}

export interface Published {
  readonly version: string
  /** What was seen of it; undefined when it could not be looked at. */
  readonly stat: FileStat | undefined
}

/** Something existed where only a new file was to be made. */
export class AlreadyThereError extends Error {
  readonly type: FileType

  constructor(path: RemotePath, type: FileType, cause: unknown) {
    super(path, { cause })
    this.type = type
  }
}

/**
 * @returns what is published. @throws what `before` throws; AlreadyThereError; VolumeError; SftpStatusError; LinkLostError, with `outcomeUnknown` once publishing began;
 * CancelledError before that.
 */
export async function publish(
  session: MachineSession,
  publication: Publication,
  leftovers: Leftovers,
  signal?: AbortSignal,
): Promise<Published> {
  const sftp = await session.sftp(signal)
  const explained = (error: unknown): Promise<unknown> => explainedByVolume(error, session, publication.path)
  const begun = await begunWhereItCanBe(publication)
  // A file that is there has its folder, and so has one that could be made.
  if (publication.outfit === undefined && begun === undefined) {
    try {
      await makeFolders(sftp, parentOf(publication.path), signal)
    } catch (error) {
      throw await explained(error)
    }
  }
  const temporary = begun?.path ?? temporaryBeside(publication.path)
  let seen: Promise<Published> | undefined
  try {
    await both(
      writeTemporary(session, temporary, publication.content, publication.outfit, signal, begun),
      publication.before?.(),
    )
    if (signal?.aborted === true) throw new CancelledError('write', signal.reason)
    const placing = putInPlace(session, sftp, temporary, publication, leftovers)
    // A server does what concerns one file in order, so the look can be under way with the exchange.
    const looks = !publication.onlyIfAbsent && !session.hasExactVersions
    const looking = looks ? seenAfter(session, publication.path) : undefined
    if (await placing) seen = looking
  } catch (error) {
    const told = await explained(error)
    await leftovers.remove(session, temporary)
    throw told
  }
  // Published: whatever happens to the temporary name now, the write has succeeded.
  const removing = publication.onlyIfAbsent ? leftovers.remove(session, temporary) : undefined
  // The file itself changes when it loses its other name, as exact versions tell.
  if (session.hasExactVersions) await removing
  const published = await (seen ?? seenAfter(session, publication.path))
  await removing
  return published
}

/**
 * The temporary file that is being made already: its answer comes with that of the look. One for a new file that the
 * server did not make may lack its folder.
 */
async function begunWhereItCanBe({ begun, outfit }: Publication): Promise<BegunTemporary | undefined> {
  if (begun === undefined) return undefined
  try {
    await begun.handle
  } catch (error) {
    if (!(error instanceof SftpStatusError) || outfit !== undefined) return begun.take()
    return undefined
  }
  return begun.take()
}

/** Wait for both, whatever becomes of the one; the failure of the second says more. */
async function both(written: Promise<void>, found: Promise<void> | undefined): Promise<void> {
  const [first, second] = await Promise.allSettled([written, found])
  if (second.status === 'rejected') throw second.reason
  if (first.status === 'rejected') throw first.reason
}

/** After the commit point: a failure to look at the result does not undo the success. */
async function seenAfter(session: MachineSession, path: RemotePath): Promise<Published> {
  try {
    const stat = await statPath(session, path, true)
    return { version: stat?.version ?? `missing:${path}`, stat }
  } catch (error) {
    if (!(error instanceof PresenceError)) throw error
    return { version: `unseen:${path}:${performance.now()}`, stat: undefined }
  }
}

/**
 * The commit point. The caller's signal no longer counts: the outcome has to be known.
 * @returns whether it was done by the first request, and nothing that belongs to it is to come.
 */
async function putInPlace(
  session: MachineSession,
  sftp: SftpChannel,
  temporary: RemotePath,
  { path, onlyIfAbsent }: Publication,
  leftovers: Leftovers,
): Promise<boolean> {
  if (onlyIfAbsent) {
    await createInPlace(sftp, temporary, path)
    return false
  }
  try {
    await sftp.renameOver(temporary, path)
    return true
  } catch (error) {
    if (!(error instanceof SftpStatusError) || error.status !== 'unsupported') throw error
    await replaceInSteps(session, sftp, temporary, path, leftovers)
    return false
  }
}

async function createInPlace(sftp: SftpChannel, temporary: RemotePath, path: RemotePath): Promise<void> {
  try {
    await sftp.hardLink(temporary, path)
  } catch (error) {
    if (!(error instanceof SftpStatusError)) throw error
    const occupant = await typeEvenOfLink(sftp, path)
    if (occupant !== undefined) throw new AlreadyThereError(path, occupant, error)
    // A file system or server without hard links: version 3's rename refuses an existing name too.
    await sftp.rename(temporary, path)
  }
}

/**
 * Without a rename that is known to replace: a plain one may do so. Where it does not, the old file is moved
 * aside, the new one in, and the old one back when that fails or the link is lost in between. A reader that
 * looks between the two steps finds nothing; no server of this kind offers better.
 */
async function replaceInSteps(
  session: MachineSession,
  sftp: SftpChannel,
  temporary: RemotePath,
  path: RemotePath,
  leftovers: Leftovers,
): Promise<void> {
  try {
    await sftp.rename(temporary, path)
    return
  } catch (error) {
    if (!(error instanceof SftpStatusError)) throw error
    if ((await typeEvenOfLink(sftp, path)) === undefined) throw error
  }
  const aside = temporaryBeside(path)
  const moved = leftovers.expect(session, aside, path)
  try {
    await sftp.rename(path, aside)
    await sftp.rename(temporary, path)
  } catch (error) {
    await moved.settle()
    throw error
  }
  await moved.settle()
}

async function typeEvenOfLink(sftp: SftpChannel, path: RemotePath): Promise<FileType | undefined> {
  try {
    return typeOf((await sftp.lstat(path)).mode)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Make a folder and its missing parents; one that is there already, perhaps just now, is fine. */
async function makeFolders(sftp: SftpChannel, path: RemotePath, signal?: AbortSignal): Promise<void> {
  try {
    if (typeOf((await sftp.stat(path, signal)).mode) === 'directory') return
  } catch (error) {
    if (!isAbsent(error)) throw error
    if (path !== '/') await makeFolders(sftp, parentOf(path), signal)
  }
  try {
    await sftp.makeFolder(path, undefined, signal)
  } catch (error) {
    // Somebody else may have made it in the meantime; anything else that is there is the caller's error.
    if (!(error instanceof SftpStatusError) || error.status !== 'failure') throw error
    if (await isFolder(sftp, path)) return
    if ((await typeEvenOfLink(sftp, path)) !== 'symlink') throw error
    const why = `the folder "${path}" is a link to something that does not exist`
    throw new FileError(why, 'not-found', { machine: sftp.machine, cause: error })
  }
}

async function isFolder(sftp: SftpChannel, path: RemotePath): Promise<boolean> {
  try {
    return typeOf((await sftp.stat(path)).mode) === 'directory'
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}
