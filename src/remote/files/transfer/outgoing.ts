/**
 * Content on its way into an open file: sent in pieces, never more at once than the line bears. It says when
 * everything is sent, which is before everything is answered, so that more can follow in the same flight.
 */
import type { SftpHandle } from '../../../ssh/channel/sftp.ts'
import type { Content } from '../saving/content.ts'
import type { Lane } from './lane.ts'

/** @returns once all is sent, or one piece was refused: what settles when every piece has its answer. */
export async function outgoing(
  lane: Lane,
  handle: SftpHandle,
  content: Content,
  signal: AbortSignal | undefined,
): Promise<{ readonly written: Promise<void> }> {
  const answers: Promise<void>[] = []
  let refused = false
  const send = (from: number, piece: Buffer): Promise<void> => lane.sftp.write(handle, from, piece, signal)
  let from = 0
  for (const piece of content.pieces(() => lane.piece())) {
    if (refused) break
    const passage = await lane.flow?.enter(piece.length, signal)
    const answer = send(from, piece).finally(() => passage?.over(piece.length))
    answer.catch((_thrownToWhoAwaitsAll: unknown) => (refused = true))
    answers.push(answer)
    from += piece.length
  }
  const written = Promise.all(answers).then(() => undefined)
  // Whoever asked may be waiting for something else when it fails.
  written.catch((_thrownToWhoAwaitsIt: unknown) => undefined)
  return { written }
}
