/** Which characters one step of a pattern takes; asked once a character and then known. */
import { WORD, type PatternNode } from './syntax.ts'

/** A code point, or `INVALID` for a byte that is part of none. */
export const INVALID = -1

export class CharacterSet {
  readonly #expression: RegExp
  /** 0: not asked yet, 1: in the set, 2: not. */
  readonly #ascii = new Uint8Array(128)
  readonly #others = new Map<number, boolean>()

  constructor(source: string, ignoreCase: boolean) {
    this.#expression = new RegExp(`^${source}$`, ignoreCase ? 'iv' : 'v')
  }

  has(code: number): boolean {
    if (code < 0) return false
    if (code < 128) {
      const known = this.#ascii[code]
      if (known !== 0) return known === 1
      const answer = this.#expression.test(String.fromCharCode(code))
      this.#ascii[code] = answer ? 1 : 2
      return answer
    }
    const known = this.#others.get(code)
    if (known !== undefined) return known
    const answer = this.#expression.test(String.fromCodePoint(code))
    this.#others.set(code, answer)
    return answer
  }
}

export const WORD_CHARACTERS = new CharacterSet(WORD, false)

const made = new Map<string, CharacterSet>()

export function characterSet(node: Extract<PatternNode, { kind: 'literal' | 'class' }>): CharacterSet {
  const source = node.kind === 'class' ? node.source : `[\\u{${node.code.toString(16)}}]`
  const key = `${node.ignoreCase ? 'i' : ''}${source}`
  const known = made.get(key)
  if (known !== undefined) return known
  // Patterns come from anywhere; what they once needed is not kept for ever.
  if (made.size > 2000) made.clear()
  const set = new CharacterSet(source, node.ignoreCase)
  made.set(key, set)
  return set
}
