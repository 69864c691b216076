/**
 * The text of one file as ripgrep reads it: byte order marks, UTF-16, and where a NUL byte makes it stop.
 * Ripgrep looks for NULs as it reads, so what it reads at once decides which lines it still reports.
 */

/** How ripgrep treats NUL bytes: a file met on the way is given up, a file that was named is searched. */
export type NulRule = 'give-up' | 'search'

export interface LineSource {
  readonly bytes: Buffer
  /** Lines that begin before this offset are searched. */
  readonly searched: number
  /** A NUL byte ends what counts as searched, although all is. */
  readonly countedToNul: boolean
  /** Where the NUL byte is that was met; null: none. */
  readonly nul: (through: readonly (readonly [start: number, end: number])[]) => number | null
}

/** What ripgrep reads at once at most, and looks for NULs in at first, in bytes. */
const BUFFER = 64 * 1024
/** It takes the bytes that may be a byte order mark first. */
const MARK = 3

export function sourceOf(content: Buffer, rule: NulRule): LineSource {
  const utf16 = encodingOf(content)
  const marked = content.length >= 3 && content[0] === 0xef && content[1] === 0xbb && content[2] === 0xbf
  if (utf16 !== undefined) {
    const text = new TextDecoder(utf16).decode(content)
    return readSource(Buffer.from(text, 'utf8'), rule, false)
  }
  if (marked) return readSource(content.subarray(3), rule, false)
  return rule === 'search' ? mappedSource(content) : readSource(content, rule, true)
}

function encodingOf(content: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (content[0] === 0xff && content[1] === 0xfe) return 'utf-16le'
  if (content[0] === 0xfe && content[1] === 0xff) return 'utf-16be'
  return undefined
}

/** A file in memory: NULs are told, and change nothing. */
function mappedSource(bytes: Buffer): LineSource {
  const early = bytes.subarray(0, BUFFER).indexOf(0)
  return {
    bytes,
    searched: bytes.length,
    countedToNul: true,
    nul: (reported) => {
      if (early >= 0) return early
      for (const [start, end] of reported) {
        const at = bytes.subarray(start, end).indexOf(0)
        if (at >= 0) return start + at
      }
      return null
    },
  }
}

function readSource(bytes: Buffer, rule: NulRule, markFirst: boolean): LineSource {
  const nul = bytes.indexOf(0)
  const at = nul < 0 ? null : nul
  if (nul >= 0 && rule === 'search') {
    const lines = Buffer.from(bytes)
    for (let next = nul; next >= 0; next = lines.indexOf(0, next + 1)) lines[next] = 0x0a
    return { bytes: lines, searched: lines.length, countedToNul: false, nul: () => at }
  }
  const searched = nul < 0 ? bytes.length : searchedBefore(bytes, nul, markFirst)
  return { bytes, searched, countedToNul: false, nul: () => at }
}

/** The end of the last line that was searched before the read that met the NUL. */
function searchedBefore(bytes: Buffer, nul: number, markFirst: boolean): number {
  let capacity = BUFFER
  /** Where the buffer begins, and how far it is filled, as offsets in the file. */
  let begin = 0
  let filled = 0
  let first = markFirst
  for (;;) {
    if (filled - begin === capacity) capacity *= 3
    const room = first ? MARK : capacity - (filled - begin)
    first = false
    const read = filled + room
    if (nul < read) return begin
    const lineEnd = bytes.lastIndexOf(0x0a, read - 1)
    filled = read
    // Whole lines are searched and dropped; without one, more is read.
    if (lineEnd >= begin) begin = lineEnd + 1
  }
}
