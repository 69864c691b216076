/** Files too large to be kept in memory twice, and their comparison. */
import { strictEqual } from 'node:assert/strict'
import { open, rename, type FileHandle } from 'node:fs/promises'

const MIB = 1024 * 1024

/** Not a power of two: pieces that came in a wrong order do not fit. */
const PERIOD = 4 * MIB + 4093

const LINE = 'A line of the text that is moved, with a number that makes it another one: '

export class Large {
  readonly mib: number
  readonly #period: string
  #path: string
  #text: string | undefined

  private constructor(mib: number, path: string, period: string) {
    this.mib = mib
    this.#path = path
    this.#period = period
  }

  static async make(mib: number, path: string): Promise<Large> {
    const lines = Array.from({ length: Math.ceil(PERIOD / LINE.length) }, (_, at) => `${LINE}${at}\n`)
    const period = Buffer.from(lines.join('').slice(0, PERIOD))
    const handle = await open(path, 'wx')
    try {
      for (let left = mib * MIB; left > 0; left -= PERIOD) await handle.write(period.subarray(0, left))
    } finally {
      await handle.close()
    }
    return new Large(mib, path, period.toString('latin1'))
  }

  get bytes(): number {
    return this.mib * MIB
  }

  /** All of it in one piece. */
  get text(): string {
    if (this.#text === undefined) {
      const whole = Buffer.alloc(this.bytes, this.#period, 'latin1')
      this.#text = whole.toString('latin1')
    }
    return this.#text
  }

  get path(): string {
    return this.#path
  }

  /** From now on under a path that nobody has seen. */
  async moveTo(path: string): Promise<void> {
    await rename(this.#path, path)
    this.#path = path
  }

  /** Compares pieces as they come, which takes next to no time. @throws at the end when they differ. */
  comparison(): { take(piece: string): void; end(): void } {
    const twice = this.#period + this.#period
    let at = 0
    let same = true
    return {
      take: (piece) => {
        for (let from = 0; from < piece.length; from += PERIOD) {
          const part = piece.length <= PERIOD ? piece : piece.slice(from, from + PERIOD)
          const begin = (at + from) % PERIOD
          same &&= part === twice.slice(begin, begin + part.length)
        }
        at += piece.length
      },
      end: () => {
        strictEqual(at, this.bytes)
        strictEqual(same, true, 'other bytes have come than were sent')
      },
    }
  }

  /** @throws when a file is not the same. */
  async compareWith(path: string): Promise<void> {
    const handle = await open(path)
    try {
      strictEqual((await handle.stat()).size, this.bytes)
      const comparison = this.comparison()
      for await (const piece of piecesOf(handle)) comparison.take(piece)
      comparison.end()
    } finally {
      await handle.close()
    }
  }
}

async function* piecesOf(handle: FileHandle): AsyncGenerator<string, void, undefined> {
  const buffer = Buffer.alloc(MIB)
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null)
    if (bytesRead === 0) return
    yield buffer.toString('latin1', 0, bytesRead)
  }
}
