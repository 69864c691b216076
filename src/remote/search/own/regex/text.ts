/** Reads a pattern character by character (Unicode's, not UTF-16's). */
import { invalidPattern } from '../refusal.ts'

const SHORT: Readonly<Record<string, string>> = {
  a: '\u0007',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

const DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

export class PatternText {
  readonly whole: string
  readonly #characters: readonly string[]
  #at = 0

  constructor(whole: string) {
    this.whole = whole
    this.#characters = [...whole]
  }

  get done(): boolean {
    return this.#at >= this.#characters.length
  }

  get peek(): string | undefined {
    return this.#characters[this.#at]
  }

  next(): string {
    return this.nextOf(() => this.invalid('incomplete escape sequence, reached end of pattern prematurely'))
  }

  nextOf(atTheEnd: () => Error): string {
    const character = this.#characters[this.#at]
    if (character === undefined) throw atTheEnd()
    this.#at += 1
    return character
  }

  take(character: string): boolean {
    if (this.peek !== character) return false
    this.#at += 1
    return true
  }

  startsWith(ascii: string): boolean {
    return [...ascii].every((character, index) => this.#characters[this.#at + index] === character)
  }

  takeAll(ascii: string): boolean {
    if (!this.startsWith(ascii)) return false
    this.#at += ascii.length
    return true
  }

  /** Up to and without the next `end`, which is taken too; undefined when there is none. */
  upTo(end: string): string | undefined {
    const stop = this.#characters.indexOf(end, this.#at)
    if (stop < 0) return undefined
    const text = this.#characters.slice(this.#at, stop).join('')
    this.#at = stop + 1
    return text
  }

  invalid(why: string): Error {
    return invalidPattern(this.whole, why)
  }

  /** The one character that an escape stands for. @param character - what follows the backslash. */
  escapedCharacter(character: string): string {
    const short = SHORT[character]
    if (short !== undefined) return short
    const digits = DIGITS[character]
    if (digits !== undefined) return this.#byNumber(digits)
    if (/[0-9]/.test(character)) throw this.invalid('backreferences are not supported')
    if (/[A-Za-z]/.test(character) || character > '\u007f') {
      throw this.invalid('unrecognized escape sequence')
    }
    return character
  }

  #byNumber(count: number): string {
    let digits = ''
    if (this.take('{')) {
      const inside = this.upTo('}')
      if (inside === undefined) throw this.invalid('incomplete escape sequence')
      digits = inside
    } else {
      for (let index = 0; index < count; index += 1) digits += this.next()
    }
    const code = /^[0-9a-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : -1
    if (code < 0) throw this.invalid('invalid hexadecimal digit')
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      throw this.invalid('hexadecimal literal is not a Unicode scalar value')
    }
    return String.fromCodePoint(code)
  }
}
