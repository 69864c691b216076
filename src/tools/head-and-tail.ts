/** The beginning and the end of an output of any length, in bounded memory; what is between is counted. */

export interface Shortened {
  readonly text: string
  /** Bytes between the two parts; 0 when the text is whole. */
  readonly leftOut: number
}

export class HeadAndTail {
  readonly #headBytes: number
  readonly #tailBytes: number
  #head: Buffer = Buffer.alloc(0)
  #tail: Buffer[] = []
  #tailLength = 0
  #leftOut = 0

  /** @param mostBytes - of both parts together. */
  constructor(mostBytes: number) {
    this.#headBytes = Math.floor(mostBytes / 2)
    this.#tailBytes = mostBytes - this.#headBytes
  }

  push(chunk: Buffer): void {
    const room = this.#headBytes - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)])
    if (chunk.length <= room) return
    const rest = chunk.subarray(Math.max(room, 0))
    this.#tail.push(rest)
    this.#tailLength += rest.length
    // Twice the size is let grow, so that the copying is cheap.
    if (this.#tailLength > 2 * this.#tailBytes) this.#shorten()
  }

  /** The text so far, both parts ending at whole lines where there are any. */
  take(): Shortened {
    this.#shorten()
    const tail = Buffer.concat(this.#tail)
    if (this.#leftOut === 0) return { text: Buffer.concat([this.#head, tail]).toString('utf8'), leftOut: 0 }
    const headEnd = this.#head.lastIndexOf('\n') + 1 || wholeCharacters(this.#head)
    const tailStart = tail.indexOf('\n') + 1
    const leftOut = this.#leftOut + this.#head.length - headEnd + tailStart
    const head = this.#head.toString('utf8', 0, headEnd)
    const note = `… ${leftOut} bytes left out …`
    return {
      text: `${head}${head.endsWith('\n') ? '' : '\n'}${note}\n${tail.toString('utf8', tailStart)}`,
      leftOut,
    }
  }

  #shorten(): void {
    const over = this.#tailLength - this.#tailBytes
    if (over <= 0) return
    this.#tail = [Buffer.concat(this.#tail).subarray(over)]
    this.#tailLength -= over
    this.#leftOut += over
  }
}

/** Bytes of a buffer without a character that is cut at its end. */
function wholeCharacters(bytes: Buffer): number {
  let end = bytes.length
  while (end > 0 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1
  const lead = bytes[end - 1] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return end - 1 + length <= bytes.length ? bytes.length : end - 1
}
