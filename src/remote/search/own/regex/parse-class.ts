/** Character classes of Rust's regex syntax, put into JavaScript's class syntax with the flag `v`. */
import { notExact } from '../refusal.ts'
import { WORD } from './syntax.ts'
import type { PatternText } from './text.ts'

const ASCII: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: String.raw`\u{0}-\u{7f}`,
  blank: String.raw`\u{9}\u{20}`,
  cntrl: String.raw`\u{0}-\u{1f}\u{7f}`,
  digit: '0-9',
  graph: String.raw`\u{21}-\u{7e}`,
  lower: 'a-z',
  print: String.raw`\u{20}-\u{7e}`,
  punct: String.raw`\u{21}-\u{2f}\u{3a}-\u{40}\u{5b}-\u{60}\u{7b}-\u{7e}`,
  space: String.raw`\u{9}-\u{d}\u{20}`,
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
}

/** `\d`, `\s`, `\w` and their opposites; undefined for other letters. */
export function escapedClass(letter: string): string | undefined {
  switch (letter) {
    case 'd':
      return String.raw`[\p{Nd}]`
    case 'D':
      return String.raw`[^\p{Nd}]`
    case 's':
      return String.raw`[\p{White_Space}]`
    case 'S':
      return String.raw`[^\p{White_Space}]`
    case 'w':
      return WORD
    case 'W':
      return `[^${WORD}]`
    default:
      return undefined
  }
}

/** What follows `\p` or `\P`. */
export function propertyClass(text: PatternText, opposite: boolean): string {
  let name = text.next()
  if (name === '{') name = text.upTo('}') ?? ''
  if (name.startsWith('^')) throw text.invalid('Unicode property not found')
  const property = known(name)
  if (property === undefined) {
    throw notExact(`the Unicode class "${name}"`, 'spell it as Unicode does, e.g. \\p{Greek} or \\p{Lu}')
  }
  return `[${opposite ? '^' : ''}${property}]`
}

function known(name: string): string | undefined {
  // V8 has it without the long s that it shares with either case; ranges it folds as Unicode does.
  if (name === 'ASCII') return ASCII['ascii']
  const [key, value] = name.split(/[:=]/, 2)
  const spellings =
    value === undefined
      ? [name, `Script=${name}`]
      : /^(gc|General_Category|sc|Script|scx|Script_Extensions)$/.test(key ?? '')
        ? [`${key}=${value}`]
        : []
  return spellings
    .filter((spelling) => /^[A-Za-z0-9_=]+$/.test(spelling))
    .map((spelling) => `\\p{${spelling}}`)
    .find(isProperty)
}

function isProperty(source: string): boolean {
  // Properties of whole strings are none of Rust's.
  try {
    return new RegExp(`[^${source}]`, 'v').source !== ''
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

type Item =
  { readonly kind: 'code'; readonly code: number } | { readonly kind: 'set'; readonly source: string }

export class ClassParser {
  readonly #text: PatternText
  #depth = 0

  constructor(text: PatternText) {
    this.#text = text
  }

  /** The opening bracket has been read. */
  parse(): string {
    const text = this.#text
    if (++this.#depth > 50) throw notExact('so deeply nested a class', 'simplify it')
    const negated = text.take('^')
    let whole: string | undefined
    let operator = ''
    let union: string[] = []
    const fold = (): void => {
      const right = union.length === 0 ? NOTHING : `[${union.join('')}]`
      whole = whole === undefined ? right : combined(whole, operator, right)
      union = []
    }
    // Dashes and one closing bracket at the beginning stand for themselves.
    let leading = true
    for (;;) {
      if (leading && text.startsWith('-') && !text.startsWith('--')) {
        text.next()
        union.push(code(0x2d))
        continue
      }
      if (leading && union.length === 0 && text.take(']')) {
        union.push(this.#rangeFrom({ kind: 'code', code: 0x5d }))
        leading = false
        continue
      }
      leading = false
      if (text.done) throw text.invalid('unclosed character class')
      if (text.take(']')) break
      const found = ['&&', '--', '~~'].find((one) => text.takeAll(one))
      if (found !== undefined) {
        fold()
        operator = found
        continue
      }
      union.push(this.#item())
    }
    fold()
    this.#depth -= 1
    const source = whole ?? NOTHING
    return negated ? `[^${source}]` : source
  }

  #item(): string {
    const item = this.#primitive()
    return this.#rangeFrom(item)
  }

  /** A range where a dash and another end follow. */
  #rangeFrom(item: Item): string {
    const text = this.#text
    if (!text.startsWith('-') || text.startsWith('--') || text.startsWith('-]')) {
      return item.kind === 'code' ? code(item.code) : item.source
    }
    text.next()
    if (text.done) throw text.invalid('unclosed character class')
    const end = this.#primitive()
    if (item.kind === 'set' || end.kind === 'set') {
      throw text.invalid('invalid range boundary, must be a literal')
    }
    if (item.code > end.code) {
      throw text.invalid('invalid character class range, the start must be <= the end')
    }
    return `${code(item.code)}-${code(end.code)}`
  }

  #primitive(): Item {
    const text = this.#text
    const character = text.nextOf(() => text.invalid('unclosed character class'))
    if (character === '[') {
      const ascii = text.startsWith(':') ? this.#ascii() : undefined
      return { kind: 'set', source: ascii ?? this.parse() }
    }
    if (character !== '\\') return { kind: 'code', code: character.codePointAt(0) ?? 0 }
    const escaped = text.next()
    if (escaped === 'p' || escaped === 'P') {
      return { kind: 'set', source: propertyClass(text, escaped === 'P') }
    }
    const set = escapedClass(escaped)
    if (set !== undefined) return { kind: 'set', source: set }
    if ('bBAz<>'.includes(escaped)) throw text.invalid('invalid escape sequence found in character class')
    return { kind: 'code', code: text.escapedCharacter(escaped).codePointAt(0) ?? 0 }
  }

  /** `[:alpha:]` and its like, or undefined when it is a class that begins with a colon. */
  #ascii(): string | undefined {
    for (const [name, ranges] of Object.entries(ASCII)) {
      if (this.#text.takeAll(`:${name}:]`)) return `[${ranges}]`
      if (this.#text.takeAll(`:^${name}:]`)) return `[^${ranges}]`
    }
    return undefined
  }
}

const NOTHING = '[]'

function combined(left: string, operator: string, right: string): string {
  switch (operator) {
    case '&&':
      return `[${left}&&${right}]`
    case '--':
      return `[${left}--${right}]`
    default:
      return `[[${left}--${right}][${right}--${left}]]`
  }
}

function code(point: number): string {
  return `\\u{${point.toString(16)}}`
}
