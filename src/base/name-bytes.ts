/**
 * Names of files are bytes, and not all of them are UTF-8. In our texts a byte that does not fit into UTF-8
 * is a lone surrogate, U+DC80 for 0x80 to U+DCFF for 0xFF, which no decoded name can hold otherwise: so every
 * name has one text, and every text its bytes. What people and the host see instead is in `shownName`.
 */
import { isUtf8 } from 'node:buffer'

const OFFSET = 0xdc00
/** With the flag `u` the halves of a pair do not count. */
const STRAY = /[\udc80-\udcff]/gu
/** The longest character of UTF-8, in bytes. */
const LONGEST_CHARACTER = 4

/** What stands for bytes that are not UTF-8 wherever texts are UTF-8. */
export const UNREADABLE = '\ufffd'

export function textOfBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (isUtf8(buffer)) return buffer.toString('utf8')
  let text = ''
  let at = 0
  while (at < buffer.length) {
    const length = characterAt(buffer, at)
    text += length === 0 ? strayOf(buffer.readUInt8(at)) : buffer.toString('utf8', at, at + length)
    at += Math.max(length, 1)
  }
  return text
}

export function bytesOfText(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, 'utf8')
  const parts: Buffer[] = []
  let from = 0
  for (const { index, 0: stray } of text.matchAll(STRAY)) {
    parts.push(Buffer.from(text.slice(from, index), 'utf8'), Buffer.of(byteOf(stray)))
    from = index + 1
  }
  return Buffer.concat([...parts, Buffer.from(text.slice(from), 'utf8')])
}

/** As the host's own listings show it: with U+FFFD for what is not UTF-8. */
export function shownName(text: string): string {
  return text.isWellFormed() ? text : bytesOfText(text).toString('utf8')
}

/** The text of one byte that is not UTF-8. */
export function strayOf(byte: number): string {
  return String.fromCharCode(OFFSET + byte)
}

/** A text with something else for each byte that is not UTF-8. */
export function withStrays(text: string, replacement: (byte: number) => string): string {
  return text.isWellFormed() ? text : text.replace(STRAY, (stray) => replacement(byteOf(stray)))
}

function byteOf(stray: string): number {
  return stray.charCodeAt(0) - OFFSET
}

/** How many bytes the character has that begins there; 0 when none does. */
function characterAt(bytes: Buffer, at: number): number {
  for (let length = 1; length <= LONGEST_CHARACTER && at + length <= bytes.length; length += 1) {
    if (isUtf8(bytes.subarray(at, at + length))) return length
  }
  return 0
}
