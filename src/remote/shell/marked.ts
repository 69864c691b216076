/**
 * Finds our random mark in a byte stream that may begin with anything (a login script's greetings),
 * and passes on what follows it, byte for byte.
 */
import { randomBytes } from 'node:crypto'

/** After the mark in a trace of our own command line (`set -x`, `set echo`), never after one that is printed. */
const TRACED = new Set([0x20, 0x27, 0x5c])

/** What a login script can print before we stop looking for the mark, in bytes. */
const LONGEST_NOISE = 1024 * 1024

/** A mark that no output holds by chance; plain characters, so that no shell touches it. */
export function randomMark(): string {
  return `presence-${randomBytes(12).toString('hex')}-`
}

export class MarkedStream {
  readonly #mark: Buffer
  readonly #onHeader: (line: string) => void
  readonly #onBody: (chunk: Buffer) => void
  #head: Buffer[] = []
  #headBytes = 0
  #state: 'mark' | 'line' | 'body' = 'mark'

  /**
   * @param onHeader - gets the rest of the mark's line, once.
   * @param onBody - gets every byte after that line.
   */
  constructor(mark: string, onHeader: (line: string) => void, onBody: (chunk: Buffer) => void) {
    this.#mark = Buffer.from(mark)
    this.#onHeader = onHeader
    this.#onBody = onBody
  }

  /** What came before the mark, when the stream ended without one: the explanation of a failure. */
  get noise(): string {
    return this.#state === 'mark' ? Buffer.concat(this.#head).toString('utf8') : ''
  }

  /** Where the mark is that was printed by us; -1 when it is not there. */
  #printed(bytes: Buffer): number {
    let at = bytes.indexOf(this.#mark)
    while (at >= 0 && TRACED.has(bytes[at + this.#mark.length] ?? 0)) {
      at = bytes.indexOf(this.#mark, at + this.#mark.length)
    }
    return at
  }

  push(chunk: Buffer): void {
    if (this.#state === 'body') {
      this.#onBody(chunk)
      return
    }
    this.#head.push(chunk)
    this.#headBytes += chunk.length
    const all = Buffer.concat(this.#head)
    const start = this.#printed(all)
    if (start < 0) {
      // Keep only what could still be the beginning of the mark once the noise is too long to matter.
      const kept = this.#headBytes > LONGEST_NOISE ? all.subarray(-this.#mark.length - 1) : all
      this.#head = [kept]
      this.#state = 'mark'
      this.#headBytes = kept.length
      return
    }
    const lineStart = start + this.#mark.length
    const lineEnd = all.indexOf(0x0a, lineStart)
    this.#head = [all]
    if (lineEnd < 0) {
      this.#state = 'line'
      return
    }
    this.#state = 'body'
    this.#head = []
    this.#onHeader(all.toString('utf8', lineStart, lineEnd))
    if (lineEnd + 1 < all.length) this.#onBody(all.subarray(lineEnd + 1))
  }
}
