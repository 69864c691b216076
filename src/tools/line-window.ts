/** A range of lines out of a text that comes in pieces, kept within bounds. */
import { boundedLine } from './bounded.ts'

/** More than is ever shown of a line. */
const LINE_CHARACTERS = 16 * 1024

export class LineWindow {
  readonly lines: string[] = []
  /** How many lines the text has; undefined until its end has come. */
  total: number | undefined
  readonly #first: number
  readonly #last: number
  readonly #mostCharacters: number
  #at = 1
  #characters = 0
  #line = ''
  #length = 0

  /** Lines count from 1; the range is closed. */
  constructor(first: number, last: number, mostCharacters: number) {
    this.#first = first
    this.#last = last
    this.#mostCharacters = mostCharacters
  }

  /** @returns false when the window is full and nothing more is needed. */
  push(chunk: string): boolean {
    const [rest = '', ...begun] = chunk.split('\n')
    this.#grow(rest)
    for (const part of begun) {
      if (!this.#take()) return false
      this.#grow(part)
    }
    return true
  }

  /** The text has ended. */
  end(): void {
    if (this.#length === 0 || this.#take()) this.total = this.#at - 1
  }

  /** More of the present line; of a long one only the beginning is kept. */
  #grow(part: string): void {
    this.#length += part.length
    if (this.#line.length < LINE_CHARACTERS) this.#line += part.slice(0, LINE_CHARACTERS)
  }

  #take(): boolean {
    if (this.#at > this.#last || this.#characters > this.#mostCharacters) return false
    if (this.#at >= this.#first) {
      const bounded = boundedLine(this.#line.replace(/\r$/, ''), this.#length)
      this.lines.push(bounded)
      this.#characters += bounded.length
    }
    this.#line = ''
    this.#length = 0
    this.#at += 1
    return true
  }
}
