/**
 * Writing the temporary file of a save: its content, and what it takes over from the file that it is to
 * replace. Putting it in place is not done here.
 */
import { randomBytes } from 'node:crypto'
import { childOf, nameOf, parentOf, type RemotePath } from '../../base/remote-path.ts'
import type { FileAttributes, SftpChannel, SftpHandle } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'

/** Bytes of one write request; servers accept at least 32 KiB, OpenSSH 255 KiB. */
const CHUNK_BYTES = 32 * 1024
const IN_FLIGHT = 32

/** Longest name on common file systems, in bytes. */
const LONGEST_NAME = 255

/** For its owner only, as long as it is not known who else may read it. */
const PRIVATE = 0o600
const PERMISSIONS = 0o777

/** What a new file takes over from the one that it replaces. */
export interface Outfit {
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

/** A name that nothing has, in the same folder, so that it can take the file's name in one step. */
export function temporaryBeside(path: RemotePath): RemotePath {
  const suffix = `.presence-${randomBytes(6).toString('hex')}`
  let stem = nameOf(path)
  while (Buffer.byteLength(`.${stem}${suffix}`) > LONGEST_NAME) stem = [...stem].slice(0, -1).join('')
  return childOf(parentOf(path), `.${stem}${suffix}`)
}

/**
 * Make a file that must not exist yet, with this content.
 * @param outfit - what to take over; undefined: only its owner may read it.
 * @throws SftpStatusError; LinkLostError; CancelledError. The file may be there then.
 */
export async function writeTemporary(
  sftp: SftpChannel,
  path: RemotePath,
  content: Buffer,
  outfit: Outfit | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const wanted = (outfit?.mode ?? PRIVATE) & PERMISSIONS
  if (await write(sftp, path, PRIVATE, wanted, content, outfit, signal)) return
  // A server that cannot change permissions may still give them to a file that it makes.
  await sftp.removeFile(path, signal)
  await write(sftp, path, wanted, wanted, content, outfit, signal)
}

/** @returns false when the file's permissions are not the wanted ones and could not be set. */
async function write(
  sftp: SftpChannel,
  path: RemotePath,
  first: number,
  wanted: number,
  content: Buffer,
  outfit: Outfit | undefined,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const handle = await sftp.createExclusively(path, first, signal)
  let closed = false
  try {
    const [made] = await Promise.all([
      sftp.fstat(handle, signal),
      writeContent(sftp, handle, content, signal),
    ])
    if (outfit !== undefined) await keepOwner(sftp, handle, made, outfit, signal)
    const [mode] = await Promise.all([
      allowed(sftp.setMode(handle, wanted, signal)),
      syncWherePossible(sftp, handle, signal),
    ])
    const set = mode || (made.mode & PERMISSIONS) === wanted
    // Errors of delayed writing come with the close: it is awaited before anything is published.
    closed = true
    await sftp.close(handle)
    return set || first === wanted
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

/** As far as we may: all of it as root, otherwise a group that we are in. */
async function keepOwner(
  sftp: SftpChannel,
  handle: SftpHandle,
  made: FileAttributes,
  { uid, gid }: Outfit,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (made.uid === uid && made.gid === gid) return
  if (await allowed(sftp.setOwner(handle, uid, gid, signal))) return
  if (made.gid !== gid && made.uid !== uid) await allowed(sftp.setOwner(handle, made.uid, gid, signal))
}

/** Whether the server did it; what it may not or cannot do is no failure of the save. */
async function allowed(request: Promise<void>): Promise<boolean> {
  try {
    await request
    return true
  } catch (error) {
    if (error instanceof SftpStatusError) return false
    throw error
  }
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
