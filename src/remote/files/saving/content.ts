/**
 * What is to be written, handed out piece by piece. A long text becomes bytes only as it leaves: all of it at once
 * would need as much memory again, which costs more processor time than the encoding.
 */

export interface Content {
  /** In bytes. */
  readonly length: number
  /**
   * All of it in order, as often as it is asked for.
   * @param most - bytes that the next piece may have; at least 4.
   */
  pieces(most: () => number): Iterable<Buffer>
}

export function contentOfBytes(bytes: Buffer): Content {
  return {
    length: bytes.length,
    *pieces(most) {
      for (let from = 0; from < bytes.length;) {
        const piece = bytes.subarray(from, from + most())
        yield piece
        from += piece.length
      }
    },
  }
}

/** In UTF-8. */
export function contentOfText(text: string): Content {
  return {
    length: Buffer.byteLength(text),
    *pieces(most) {
      /** Code units that were about as many bytes as were wanted. */
      let share = 1
      for (let from = 0; from < text.length;) {
        const wanted = most()
        let end = from
        let piece: Buffer
        do {
          end = behindCharacter(text, from, Math.max(1, Math.floor(wanted * share)))
          piece = Buffer.from(text.slice(from, end))
          share = (end - from) / (piece.length + 3)
        } while (piece.length > wanted)
        share = (end - from) / piece.length
        yield piece
        from = end
      }
    },
  }
}

/** About so many code units on, never in the middle of a character of two. */
function behindCharacter(text: string, from: number, units: number): number {
  const end = Math.min(text.length, from + units)
  const last = text.charCodeAt(end - 1)
  const isCut = last >= 0xd800 && last < 0xdc00 && end < text.length
  if (!isCut) return end
  return end - 1 > from ? end - 1 : end + 1
}
