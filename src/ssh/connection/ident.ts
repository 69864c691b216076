/** The server's identification, and the lines that it may send before it (RFC 4253, section 4.2). */
import type { Duplex } from 'node:stream'

/** More text than this before an identification is not an SSH server's. */
const LONGEST_GREETING = 64 * 1024

export interface IdentReader {
  /** e.g. `SSH-2.0-OpenSSH_9.2p1`; empty until it has come. */
  readonly line: string
  /** What came before it, or instead of it. */
  readonly before: string
}

/** Watch the beginning of a stream that somebody else reads. */
export function readIdent(stream: Duplex, onIdent: () => void): IdentReader {
  const reader = { line: '', before: '' }
  const read = (chunk: Buffer): void => {
    reader.before += chunk.toString('latin1')
    const found = /^SSH-[^\r\n]*(?=\r?\n)/m.exec(reader.before)
    if (found !== null) {
      reader.line = found[0]
      reader.before = reader.before.slice(0, found.index)
      onIdent()
    }
    if (found !== null || reader.before.length > LONGEST_GREETING) stream.off('data', read)
  }
  stream.on('data', read)
  return reader
}
