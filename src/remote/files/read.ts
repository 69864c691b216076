/** Reading files: only regular ones, whole, in ranges or as a stream, with bounded memory. */
import type { RemotePath } from '../../base/remote-path.ts'
import type { MachineSession } from '../session.ts'
import { FileError, asFileError } from './errors.ts'
import { statPath, type FileStat } from './stat.ts'
import { incoming, type Span } from './transfer/incoming.ts'
import { takeLane, type Lane } from './transfer/lane.ts'
import { ReadingFile } from './transfer/reading-file.ts'

/** For a reader who wants all of it, however large. */
export const WHOLE_FILE = Number.MAX_SAFE_INTEGER
/** Larger ones are not believed to be so large before they were read. */
const BELIEVED_BYTES = 1024 * 1024 * 1024
/** A part whose file is not known to have so much is not waited for as bulk. */
const ASSUMED_BYTES = 1024 * 1024

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
  const content = new Content(size)
  for await (const piece of pieces(session, file, whole(size), content.room, size, signal)) {
    content.take(piece)
    if (content.bytes > maxBytes) throw tooLarge('content')
  }
  return content.whole()
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
  yield* pieces(session, file, whole(size), undefined, size, signal)
}

/**
 * Up to `length` bytes from `offset`; short at the end of the file, empty beyond it.
 * @param size - of the file, as far as it is known.
 */
export async function readRange(
  session: MachineSession,
  file: Shown,
  offset: number,
  length: number,
  signal?: AbortSignal,
  size?: number,
): Promise<Buffer> {
  const there = size === undefined ? ASSUMED_BYTES : Math.max(0, size - offset)
  const content = new Content(undefined)
  const part = { from: offset, to: offset + length, beyond: false }
  for await (const piece of pieces(session, file, part, undefined, Math.min(length, there), signal)) {
    content.take(piece)
  }
  return content.whole()
}

function whole(size: number): Span {
  return { from: 0, to: size, beyond: true }
}

/** Pieces put together; those that lie in `room` are together already. */
class Content {
  /** For so much of it as is expected. */
  readonly room: Buffer | undefined
  readonly #others: Buffer[] = []
  #inRoom = 0
  #bytes = 0

  constructor(size: number | undefined) {
    this.room = size === undefined || size > BELIEVED_BYTES ? undefined : Buffer.allocUnsafe(size)
  }

  get bytes(): number {
    return this.#bytes
  }

  take(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.room !== undefined && this.#bytes <= this.room.length) this.#inRoom += piece.length
    else this.#others.push(piece)
  }

  whole(): Buffer {
    const inRoom = this.#inRoom === 0 ? [] : [this.room?.subarray(0, this.#inRoom) ?? Buffer.alloc(0)]
    const parts = [...inRoom, ...this.#others]
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, this.#bytes)
  }
}

/** @param expected - about as many bytes as will come. */
async function* pieces(
  session: MachineSession,
  file: Shown,
  span: Span,
  into: Buffer | undefined,
  expected: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  const doing = `cannot read "${file.shown}"`
  let lane: Lane | undefined
  let reading: ReadingFile | undefined
  try {
    lane = await takeLane(session, 'down', expected, signal)
    reading = new ReadingFile(lane.sftp, lane.sftp.beginReading(file.path, signal))
    await reading.readable()
    yield* incoming(lane, reading, span, into, signal)
  } catch (error) {
    throw asFileError(error, doing)
  } finally {
    reading?.close()
    lane?.release()
  }
}
