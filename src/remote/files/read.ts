/** Reading files: only regular ones, whole, in ranges or as a stream, with bounded memory. */
import type { RemotePath } from '../../base/remote-path.ts'
import type { SftpChannel, SftpHandle } from '../../ssh/channel/sftp.ts'
import type { MachineSession } from '../session.ts'
import { FileError, asFileError } from './errors.ts'
import { statPath, type FileStat } from './stat.ts'

/** One request's worth; OpenSSH answers at most 255 KiB at once. */
const CHUNK_BYTES = 128 * 1024
/** For a reader who wants all of it, however large. */
export const WHOLE_FILE = Number.MAX_SAFE_INTEGER
/** Requests in flight: 1 MiB, half of the channel's window. */
const IN_FLIGHT = 8

export interface Shown {
  /** The path as messages show it. */
  readonly path: RemotePath
  readonly shown: string
}

/**
 * Metadata of a file that may be opened. The type is looked at first, because opening a FIFO that
 * nobody writes to would block the machine's SFTP server.
 * @param known - what this caller has found there just now. @throws FileError `not-found`, `not-regular`.
 */
export async function requireRegular(
  session: MachineSession,
  file: Shown,
  verb: string,
  signal?: AbortSignal,
  known?: FileStat,
): Promise<FileStat> {
  const doing = `cannot ${verb} "${file.shown}"`
  const look = async (): Promise<FileStat | undefined> => {
    try {
      return await statPath(session, file.path, true, signal)
    } catch (error) {
      throw asFileError(error, doing)
    }
  }
  const stat = known ?? (await look())
  if (stat === undefined)
    throw new FileError(`${doing}: not found`, 'not-found', { machine: session.machine })
  if (stat.type !== 'file') {
    throw new FileError(`${doing}: not a regular file`, 'not-regular', { machine: session.machine })
  }
  return stat
}

/**
 * The whole content.
 * @param maxBytes - inclusive limit. @throws FileError `too-large`.
 */
export async function readAll(
  session: MachineSession,
  file: Shown,
  size: number,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  const tooLarge = (what: string): FileError =>
    new FileError(`cannot read "${file.shown}": ${what} exceeds the ${maxBytes}-byte limit`, 'too-large', {
      machine: session.machine,
    })
  if (size > maxBytes) throw tooLarge(`${size} bytes`)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of readChunks(session, file, size, signal)) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge('content')
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes)
}

/**
 * The content in order, from the beginning to the end of the file as it is then; `size` only tells how
 * much to ask for ahead (kernel files say 0 and hold text all the same).
 */
export async function* readChunks(
  session: MachineSession,
  file: Shown,
  size: number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  yield* withOpenFile(session, file, signal, (sftp, handle) => inOrder(sftp, handle, size, signal))
}

/** Up to `length` bytes from `offset`; short at the end of the file, empty beyond it. */
export async function readRange(
  session: MachineSession,
  file: Shown,
  offset: number,
  length: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  const parts: Buffer[] = []
  const range = withOpenFile(session, file, signal, async function* (sftp, handle) {
    // A caller who wants all of the rest may ask for any length.
    for (let at = 0; at < length; at += IN_FLIGHT * CHUNK_BYTES) {
      const starts = Array.from({ length: IN_FLIGHT }, (_unused, index) => at + index * CHUNK_BYTES)
      const wanting = starts.filter((start) => start < length)
      const batch = wanting.map(async (start) => {
        const wanted = Math.min(CHUNK_BYTES, length - start)
        return { wanted, bytes: await readFull(sftp, handle, offset + start, wanted, signal) }
      })
      for (const { wanted, bytes } of await Promise.all(batch)) {
        yield bytes
        if (bytes.length < wanted) return
      }
    }
  })
  for await (const part of range) parts.push(part)
  return Buffer.concat(parts)
}

async function* withOpenFile(
  session: MachineSession,
  file: Shown,
  signal: AbortSignal | undefined,
  read: (sftp: SftpChannel, handle: SftpHandle) => AsyncGenerator<Buffer, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  const doing = `cannot read "${file.shown}"`
  let sftp: SftpChannel
  let handle: SftpHandle
  try {
    sftp = await session.sftp(signal)
    handle = await sftp.openForReading(file.path, signal)
  } catch (error) {
    throw asFileError(error, doing)
  }
  try {
    yield* read(sftp, handle)
  } catch (error) {
    throw asFileError(error, doing)
  } finally {
    // Nothing waits for the close of a file that was only read; a failure of it changes nothing.
    sftp.close(handle).catch((_onlyTheHandleIsLost: unknown) => undefined)
  }
}

async function* inOrder(
  sftp: SftpChannel,
  handle: SftpHandle,
  size: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  const ahead: Promise<Buffer>[] = []
  let asked = 0
  let delivered = 0
  const ask = (): void => {
    const request = readFull(sftp, handle, asked, CHUNK_BYTES, signal)
    request.catch((_thrownWhenItsTurnComes: unknown) => undefined)
    ahead.push(request)
    asked += CHUNK_BYTES
  }
  ask()
  for (;;) {
    while (ahead.length < IN_FLIGHT && asked < size) ask()
    const next = ahead.shift()
    if (next === undefined) return
    const bytes = await next
    delivered += bytes.length
    if (bytes.length > 0) yield bytes
    if (bytes.length < CHUNK_BYTES) return
    // The file is longer than we were told: go on until it ends.
    if (ahead.length === 0 && delivered >= size) ask()
  }
}

/** A server may answer less than was asked; only nothing at all is the end of the file. */
async function readFull(
  sftp: SftpChannel,
  handle: SftpHandle,
  position: number,
  length: number,
  signal: AbortSignal | undefined,
): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  while (bytes < length) {
    const part = await sftp.read(handle, position + bytes, length - bytes, signal)
    if (part.length === 0) break
    parts.push(part)
    bytes += part.length
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, bytes)
}
