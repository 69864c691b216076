/**
 * The content of a file, piece by piece and in order. Several pieces are asked for ahead, and never more
 * than the line and the reader take: a reader who takes their time holds a bounded part of it, and nobody up.
 */
import { SftpStatusError } from '../../../ssh/errors.ts'
import type { Lane } from './lane.ts'
import type { ReadingFile } from './reading-file.ts'

/** To find the end of a file where it is expected. */
const LOOK_BYTES = 8 * 1024

/** Which part of a file. */
export interface Span {
  readonly from: number
  readonly to: number
  /** Go on behind `to` until the file ends: its size may have changed, or may say nothing. */
  readonly beyond: boolean
}

interface Asked {
  readonly from: number
  readonly bytes: number
  /** Asked for behind the expected end. */
  readonly look: boolean
  readonly answer: Promise<Buffer>
}

/**
 * @param into - where the bytes of the span go, if it has room for all of them; pieces are parts of it then.
 * @returns pieces that follow each other without a gap, up to the end of the span or of the file as it is then.
 */
export async function* incoming(
  lane: Lane,
  file: ReadingFile,
  { from, to, beyond }: Span,
  into: Buffer | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  const over = new AbortController()
  const leave = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
  const ahead: Asked[] = []
  let held = 0
  let at = from
  let end = to
  let toBeLookedFor = beyond
  const ask = (bytes: number): void => {
    const place = into !== undefined && at - from + bytes <= into.length
    const buffer = place ? into.subarray(at - from, at - from + bytes) : Buffer.allocUnsafe(bytes)
    const look = at >= end
    const answer = fetch(lane, file, at, buffer, look, leave)
    answer.catch((_thrownWhenItsTurnComes: unknown) => undefined)
    ahead.push({ from: at, bytes, look, answer })
    held += bytes
    at += bytes
  }
  try {
    for (;;) {
      while (at < end && (ahead.length === 0 || held < lane.room())) ask(Math.min(lane.piece(), end - at))
      if (at >= end && toBeLookedFor) {
        // The end is looked for in the same flight as the last piece before it.
        toBeLookedFor = false
        ask(at === from ? lane.piece() : LOOK_BYTES)
      }
      const next = ahead.shift()
      if (next === undefined) return
      const piece = await next.answer
      held -= next.bytes
      if (piece.length > 0) yield piece
      if (!next.look && piece.length < next.bytes) return
      if (next.look && piece.length > 0) {
        at = next.from + piece.length
        const size = await sizeNow(file, leave)
        if (size === at) return
        // One that grows all the time has an end as well: where it is now. A size below what was read says nothing.
        end = size > at ? size : Number.POSITIVE_INFINITY
      }
    }
  } finally {
    over.abort()
  }
}

async function fetch(
  lane: Lane,
  file: ReadingFile,
  position: number,
  into: Buffer,
  look: boolean,
  signal: AbortSignal,
): Promise<Buffer> {
  // Behind the expected end there is nothing that would fill the line.
  const passage = into.length > LOOK_BYTES ? await lane.flow?.enter(into.length, signal) : undefined
  let got = 0
  try {
    // A server may answer less than was asked; only nothing at all is the end of the file.
    while (got < into.length) {
      const more = await file.readInto(into.subarray(got), position + got, signal)
      got += more
      if (more === 0 || look) break
    }
  } finally {
    passage?.over(got)
  }
  return into.subarray(0, got)
}

/** What the file's size is now; 0 where the server does not tell. */
async function sizeNow(file: ReadingFile, signal: AbortSignal): Promise<number> {
  try {
    return (await file.fstat(signal)).size
  } catch (error) {
    if (error instanceof SftpStatusError) return 0
    throw error
  }
}
