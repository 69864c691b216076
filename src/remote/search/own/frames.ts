/** Takes the answer of our search scripts apart: frames of `kind:name` and content, whatever stands before them. */
const SEPARATOR = 0

export interface Frame {
  readonly kind: string
  /** Its bytes as latin1. */
  readonly name: string
  readonly content: Buffer
}

export class FrameReader {
  readonly #begin: Buffer
  readonly #most: number
  #chunks: Buffer[] = []
  #bytes = 0
  /** What could still be the first part of the next frame's begin is looked at again. */
  #tail: Buffer = Buffer.alloc(0)
  #started = false

  /** @param most - the longest frame in bytes; a longer one is given without content, as `too-long`. */
  constructor(mark: string, most: number) {
    this.#begin = Buffer.from(`\0${mark}`, 'latin1')
    this.#most = most
  }

  /** The frames that this chunk completes. */
  push(chunk: Buffer): Frame[] {
    const frames: Frame[] = []
    let rest: Buffer = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk])
    for (;;) {
      const at = rest.indexOf(this.#begin)
      if (at < 0) break
      this.#keep(rest.subarray(0, at))
      frames.push(...this.#take())
      this.#started = true
      rest = rest.subarray(at + this.#begin.length)
    }
    const unsure = Math.min(rest.length, this.#begin.length - 1)
    this.#keep(rest.subarray(0, rest.length - unsure))
    this.#tail = rest.subarray(rest.length - unsure)
    return frames
  }

  /** The last frame, once nothing more comes. */
  end(): Frame[] {
    this.#keep(this.#tail)
    this.#tail = Buffer.alloc(0)
    return this.#take()
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#bytes += bytes.length
    if (this.#bytes <= this.#most || this.#chunks.length === 0) this.#chunks.push(bytes)
  }

  #take(): Frame[] {
    const whole = Buffer.concat(this.#chunks)
    const tooLong = this.#bytes > this.#most
    this.#chunks = []
    this.#bytes = 0
    if (!this.#started) return []
    const end = whole.indexOf(SEPARATOR)
    if (end < 0) return []
    const head = whole.toString('latin1', 0, end)
    const colon = head.indexOf(':')
    const [kind, name] = [head.slice(0, colon), head.slice(colon + 1)]
    if (tooLong) return [{ kind: 'too-long', name, content: Buffer.alloc(0) }]
    return [{ kind, name, content: whole.subarray(end + 1) }]
  }
}
