/**
 * Parses ripgrep's patterns (the syntax of Rust's regex library) as far as they can be served exactly.
 * What ripgrep itself refuses is an invalid pattern; what only we cannot do is refused by name.
 */
import { invalidPattern, notExact } from '../refusal.ts'
import { ClassParser, escapedClass, propertyClass } from './parse-class.ts'
import type { PatternNode } from './syntax.ts'
import { PatternText } from './text.ts'

interface Flags {
  readonly ignoreCase: boolean
  /** Greedy and lazy repetitions change places. */
  readonly swapGreed: boolean
}

/** A tree deeper than this is refused before it could exhaust the stack. */
const DEEPEST = 200
const MOST_REPEATS = 1000

/** @throws SearchRefusal. */
export function parsePattern(pattern: string, ignoreCase: boolean): PatternNode {
  return new PatternParser(new PatternText(pattern)).parse({ ignoreCase, swapGreed: false })
}

class PatternParser {
  readonly #text: PatternText
  #flags: Flags = { ignoreCase: false, swapGreed: false }
  #depth = 0

  constructor(text: PatternText) {
    this.#text = text
  }

  parse(flags: Flags): PatternNode {
    this.#flags = flags
    const node = this.#choice()
    if (!this.#text.done) throw this.#invalid('unopened group')
    return node
  }

  #invalid(why: string): Error {
    return invalidPattern(this.#text.whole, why)
  }

  #choice(): PatternNode {
    if (++this.#depth > DEEPEST) throw notExact('so deeply nested a pattern', 'simplify it')
    const branches = [this.#sequence()]
    while (this.#text.take('|')) branches.push(this.#sequence())
    this.#depth -= 1
    const [only] = branches
    return branches.length === 1 && only !== undefined ? only : { kind: 'choice', branches }
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = []
    for (;;) {
      const next = this.#text.peek
      if (next === undefined || next === '|' || next === ')') break
      const part = this.#part()
      if (part !== undefined) parts.push(this.#repeated(part))
    }
    const [only] = parts
    if (only === undefined) return { kind: 'empty' }
    return parts.length === 1 ? only : { kind: 'sequence', parts }
  }

  /** One thing that may be repeated; undefined for flags that hold from here on. */
  #part(): PatternNode | undefined {
    const character = this.#text.next()
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return this.#class()
      case '.':
        // A line end is never part of a line.
        return { kind: 'class', source: String.raw`[^\n]`, ignoreCase: false }
      case '^':
        return { kind: 'assertion', what: 'line-start' }
      case '$':
        return { kind: 'assertion', what: 'line-end' }
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
      case '{':
        throw this.#invalid('repetition operator missing expression')
      default:
        return this.#literal(character)
    }
  }

  #literal(character: string): PatternNode {
    if (character === '\n') throw this.#lineEnd()
    if (character === '\0') throw this.#nul()
    return { kind: 'literal', code: character.codePointAt(0) ?? 0, ignoreCase: this.#flags.ignoreCase }
  }

  #lineEnd(): Error {
    return invalidPattern(this.#text.whole, 'the literal "\\n" is not allowed in a regex')
  }

  #nul(): Error {
    return notExact('a pattern with a NUL character', 'leave it out')
  }

  #class(): PatternNode {
    const source = new ClassParser(this.#text).parse()
    if (source === String.raw`[\u{a}]`) throw this.#lineEnd()
    return { kind: 'class', source, ignoreCase: this.#flags.ignoreCase }
  }

  #escape(): PatternNode {
    const text = this.#text
    const character = text.next()
    switch (character) {
      case 'b':
        return this.#border()
      case 'B':
        return { kind: 'assertion', what: 'no-border' }
      case '<':
        return { kind: 'assertion', what: 'word-start' }
      case '>':
        return { kind: 'assertion', what: 'word-end' }
      case 'A':
      case 'z':
        throw notExact(`\\${character} (begin or end of the whole text)`, 'use ^ or $ for lines')
      case 'p':
      case 'P':
        return {
          kind: 'class',
          source: propertyClass(text, character === 'P'),
          ignoreCase: this.#flags.ignoreCase,
        }
    }
    const set = escapedClass(character)
    if (set !== undefined) return { kind: 'class', source: set, ignoreCase: this.#flags.ignoreCase }
    return this.#literal(text.escapedCharacter(character))
  }

  #border(): PatternNode {
    if (!this.#text.startsWith('{')) return { kind: 'assertion', what: 'border' }
    if (this.#text.takeAll('{start}')) return { kind: 'assertion', what: 'word-start' }
    if (this.#text.takeAll('{end}')) return { kind: 'assertion', what: 'word-end' }
    throw notExact(String.raw`\b{…} other than \b{start} and \b{end}`, String.raw`use \b`)
  }

  #group(): PatternNode | undefined {
    const text = this.#text
    if (!text.take('?')) return this.#inner(this.#flags)
    for (const around of ['=', '!', '<=', '<!']) {
      if (text.startsWith(around)) {
        throw this.#invalid('look-around, including look-ahead and look-behind, is not supported')
      }
    }
    if (text.startsWith('P<') || text.startsWith('<')) {
      text.takeAll('P')
      text.next()
      const name = text.upTo('>')
      if (name === undefined) throw this.#invalid('unclosed capture group name')
      if (!/^[\p{Alphabetic}_][\p{Alphabetic}\p{Nd}_.[\]]*$/u.test(name)) {
        throw this.#invalid('invalid capture group character')
      }
      return this.#inner(this.#flags)
    }
    const flags = this.#readFlags()
    if (text.take(':')) return this.#inner(flags)
    text.next()
    this.#flags = flags
    return undefined
  }

  /** Flags that are set within a group end with it. */
  #inner(flags: Flags): PatternNode {
    const outer = this.#flags
    this.#flags = flags
    const node = this.#choice()
    if (!this.#text.take(')')) throw this.#invalid('unclosed group')
    this.#flags = outer
    return node
  }

  #readFlags(): Flags {
    const text = this.#text
    let flags = this.#flags
    let on = true
    let any = false
    while (text.peek !== ':' && text.peek !== ')') {
      const flag = text.nextOf(() => this.#invalid('unclosed group'))
      if (flag === '-') {
        if (!on) throw this.#invalid('flag negation operator repeated')
        on = false
        any = false
        continue
      }
      any = true
      if (flag === 'i') flags = { ...flags, ignoreCase: on }
      else if (flag === 'U') flags = { ...flags, swapGreed: on }
      // Lines hold no line ends, so `s` changes nothing.
      else if (!(flag === 's' || ((flag === 'm' || flag === 'u') && on))) {
        if (!'muxR'.includes(flag)) throw this.#invalid('unrecognized flag')
        throw notExact(`the flag ${on ? '' : '-'}${flag} in a pattern`, 'leave it out')
      }
    }
    if (!any && !(on && text.peek === ':')) throw this.#invalid('repetition operator missing expression')
    return flags
  }

  #repeated(node: PatternNode): PatternNode {
    const text = this.#text
    let repeated = node
    for (;;) {
      const bounds = this.#bounds()
      if (bounds === undefined) return repeated
      if (++this.#depth > DEEPEST) throw notExact('so deeply nested a pattern', 'simplify it')
      const lazy = text.take('?')
      const [least, most] = bounds
      repeated = { kind: 'repeat', body: repeated, least, most, greedy: lazy === this.#flags.swapGreed }
    }
  }

  #bounds(): [number, number] | undefined {
    const text = this.#text
    if (text.take('*')) return [0, Infinity]
    if (text.take('+')) return [1, Infinity]
    if (text.take('?')) return [0, 1]
    if (!text.take('{')) return undefined
    const inside = text.upTo('}')
    if (inside === undefined) throw this.#invalid('unclosed counted repetition')
    const [, low, comma, high] = /^\s*(\d+)\s*(?:(,)\s*(\d*)\s*)?$/.exec(inside) ?? []
    if (low === undefined) {
      if (/^\s*,\s*\d+\s*$/.test(inside)) {
        throw notExact('a repetition without a least number', `write {0${inside.trim()}}`)
      }
      throw this.#invalid('repetition quantifier expects a valid decimal')
    }
    const least = Number(low)
    const most = comma === undefined ? least : high === undefined || high === '' ? Infinity : Number(high)
    if (most < least) {
      throw this.#invalid('invalid repetition count range, the start must be <= the end')
    }
    if (least > MOST_REPEATS || (most !== Infinity && most > MOST_REPEATS)) {
      throw notExact(`a repetition of more than ${MOST_REPEATS}`, 'lower it')
    }
    return [least, most]
  }
}
