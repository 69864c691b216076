/**
 * Publishing new content: written to a temporary file beside the target, forced to the disk, and put in
 * place in one step, so that every reader sees the old content or the new and never less.
 */
import { randomBytes } from 'node:crypto'
import { childOf, nameOf, parentOf, type RemotePath } from '../../base/remote-path.ts'
import { CancelledError } from '../../base/failure.ts'
import type { SftpChannel, SftpHandle } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import type { MachineSession } from '../session.ts'
import { isAbsent } from './errors.ts'
import { typeOf } from './stat.ts'
import { explainedByVolume } from './volume.ts'

/** Bytes of one write request; servers accept at least 32 KiB, OpenSSH 255 KiB. */
const CHUNK_BYTES = 32 * 1024
const IN_FLIGHT = 32
/** Longest name on common file systems, in bytes. */
const LONGEST_NAME = 255

export interface Publication {
  readonly path: RemotePath
  readonly content: Buffer
  /** Permission bits to end up with; undefined for a new file, which only its owner may read. */
  readonly mode: number | undefined
  /** Refuse when something exists at the path, in the same step that would publish. */
  readonly onlyIfAbsent: boolean
}

/** Something existed where only a new file was to be made. */
export class AlreadyThereError extends Error {}

/**
 * @throws AlreadyThereError; VolumeError; SftpStatusError; LinkLostError, with `outcomeUnknown` once publishing began;
 * CancelledError before that.
 */
export async function publish(
  session: MachineSession,
  publication: Publication,
  leftovers: Leftovers,
  signal?: AbortSignal,
): Promise<void> {
  const sftp = await session.sftp(signal)
  const explained = (error: unknown): Promise<unknown> => explainedByVolume(error, session, publication.path)
  try {
    await makeFolders(sftp, parentOf(publication.path), signal)
  } catch (error) {
    throw await explained(error)
  }
  const temporary = childOf(parentOf(publication.path), temporaryName(nameOf(publication.path)))
  try {
    await writeTemporary(sftp, temporary, publication, signal)
    if (signal?.aborted === true) throw new CancelledError('write', signal.reason)
    await putInPlace(sftp, temporary, publication)
  } catch (error) {
    const told = await explained(error)
    await leftovers.remove(session, temporary)
    throw told
  }
  // Published: whatever happens to the temporary name now, the write has succeeded.
  if (publication.onlyIfAbsent) await leftovers.remove(session, temporary)
}

function temporaryName(name: string): string {
  const suffix = `.presence-${randomBytes(6).toString('hex')}`
  let stem = name
  while (Buffer.byteLength(`.${stem}${suffix}`) > LONGEST_NAME) stem = [...stem].slice(0, -1).join('')
  return `.${stem}${suffix}`
}

async function writeTemporary(
  sftp: SftpChannel,
  temporary: RemotePath,
  publication: Publication,
  signal: AbortSignal | undefined,
): Promise<void> {
  const handle = await sftp.createExclusively(temporary, 0o600, signal)
  let closed = false
  try {
    await writeContent(sftp, handle, publication.content, signal)
    if (publication.mode !== undefined) await sftp.setMode(handle, publication.mode & 0o777, signal)
    await syncWherePossible(sftp, handle, signal)
    // Errors of delayed writing come with the close: it is awaited before anything is published.
    closed = true
    await sftp.close(handle)
  } finally {
    if (!closed) sftp.close(handle).catch((_theFileIsRemoved: unknown) => undefined)
  }
}

async function writeContent(
  sftp: SftpChannel,
  handle: SftpHandle,
  content: Buffer,
  signal: AbortSignal | undefined,
): Promise<void> {
  let next = 0
  const writer = async (): Promise<void> => {
    while (next < content.length) {
      const from = next
      next += CHUNK_BYTES
      await sftp.write(handle, from, content.subarray(from, from + CHUNK_BYTES), signal)
    }
  }
  await Promise.all(
    Array.from({ length: Math.min(IN_FLIGHT, Math.ceil(content.length / CHUNK_BYTES)) }, writer),
  )
}

async function syncWherePossible(
  sftp: SftpChannel,
  handle: SftpHandle,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await sftp.fsync(handle, signal)
  } catch (error) {
    if (!(error instanceof SftpStatusError) || error.status !== 'unsupported') throw error
  }
}

/** The commit point. The caller's signal no longer counts: the outcome has to be known. */
async function putInPlace(sftp: SftpChannel, temporary: RemotePath, publication: Publication): Promise<void> {
  if (publication.onlyIfAbsent) {
    await createInPlace(sftp, temporary, publication.path)
    return
  }
  try {
    await sftp.renameOver(temporary, publication.path)
  } catch (error) {
    if (!(error instanceof SftpStatusError) || error.status !== 'unsupported') throw error
    await renameAside(sftp, temporary, publication.path)
  }
}

async function createInPlace(sftp: SftpChannel, temporary: RemotePath, path: RemotePath): Promise<void> {
  try {
    await sftp.hardLink(temporary, path)
  } catch (error) {
    if (!(error instanceof SftpStatusError)) throw error
    if (await existsEvenAsLink(sftp, path)) throw new AlreadyThereError(path, { cause: error })
    // A file system or server without hard links: version 3's rename refuses an existing name too.
    await sftp.rename(temporary, path)
  }
}

/**
 * Without a rename that replaces: move the old file aside, the new one in, and the old one back when
 * that fails. Between the two steps a reader finds nothing; no server of this kind offers better.
 */
async function renameAside(sftp: SftpChannel, temporary: RemotePath, path: RemotePath): Promise<void> {
  const aside = childOf(parentOf(path), temporaryName(nameOf(path)))
  let moved = false
  try {
    await sftp.rename(path, aside)
    moved = true
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  try {
    await sftp.rename(temporary, path)
  } catch (error) {
    if (moved) await sftp.rename(aside, path)
    throw error
  }
  if (moved) await sftp.removeFile(aside)
}

async function existsEvenAsLink(sftp: SftpChannel, path: RemotePath): Promise<boolean> {
  try {
    await sftp.lstat(path)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/** Make a folder and its missing parents; one that is there already, perhaps just now, is fine. */
export async function makeFolders(sftp: SftpChannel, path: RemotePath, signal?: AbortSignal): Promise<void> {
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
    if (error instanceof SftpStatusError && error.status === 'failure' && (await isFolder(sftp, path))) return
    throw error
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

/**
 * Temporary files that may still be on a machine, e.g. because the link died before they could be
 * removed; they are removed at the next use of that machine.
 */
export class Leftovers {
  readonly #stranded = new Map<string, Set<RemotePath>>()

  /** Remove one now, or remember it for later when that is impossible. */
  async remove(session: MachineSession, path: RemotePath): Promise<void> {
    try {
      await (await session.sftp()).removeFile(path)
      this.#stranded.get(session.machine)?.delete(path)
    } catch (error) {
      if (isAbsent(error)) this.#stranded.get(session.machine)?.delete(path)
      else setOf(this.#stranded, session.machine).add(path)
    }
  }

  /** Remove what an earlier connection had to leave behind. */
  async sweep(session: MachineSession): Promise<void> {
    const stranded = [...(this.#stranded.get(session.machine) ?? [])]
    await Promise.all(stranded.map((path) => this.remove(session, path)))
  }
}

function setOf(map: Map<string, Set<RemotePath>>, key: string): Set<RemotePath> {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const made = new Set<RemotePath>()
  map.set(key, made)
  return made
}
