/**
 * Globs with ripgrep's meaning. They match bytes, not characters (`?` is one byte of a name), so names
 * come as strings of bytes (latin1), and globs become expressions over bytes.
 */
export class GlobError extends Error {
  override readonly name = 'GlobError'
}

export interface GlobOptions {
  /** Of ASCII letters only, as ripgrep does. */
  readonly ignoreCase: boolean
  /** A `[` that is never closed stands for itself; otherwise it is an error. */
  readonly allowUnclosedClass: boolean
}

type Token =
  | { readonly kind: 'literal'; readonly character: string }
  | { readonly kind: 'any' | 'star' | 'prefix' | 'suffix' | 'between' }
  | {
      readonly kind: 'class'
      readonly negated: boolean
      readonly ranges: readonly (readonly [string, string])[]
    }
  | { readonly kind: 'alternates'; readonly branches: readonly (readonly Token[])[] }

/** `*` and `?` stop at slashes; `**` between slashes does not. @throws GlobError. */
export function globToRegExp(glob: string, options: GlobOptions): RegExp {
  const tokens = new GlobParser(glob, options).parse()
  const [first] = tokens
  if (tokens.length === 1 && first?.kind === 'prefix') return /^/
  // `s`, since names may hold line ends; no `u`, since these are bytes.
  return new RegExp(`^${sourceOf(tokens, options)}$`, 's')
}

class GlobParser {
  readonly #characters: readonly string[]
  readonly #options: GlobOptions
  readonly #starts: number[] = []
  #branches: Token[][] = [[]]
  #at = 0
  #unclosedClass = false

  constructor(glob: string, options: GlobOptions) {
    this.#characters = [...glob]
    this.#options = options
  }

  parse(): readonly Token[] {
    for (;;) {
      const character = this.#characters[this.#at++]
      if (character === undefined) break
      if (character === '?') this.#push({ kind: 'any' })
      else if (character === '*') this.#star()
      else if (character === '[' && !this.#unclosedClass) this.#class()
      else if (character === '{') {
        this.#starts.push(this.#branches.length)
        this.#branches.push([])
      } else if (character === '}') this.#closeAlternates()
      else if (character === ',' && this.#starts.length > 0) this.#branches.push([])
      else if (character === '\\') this.#escape()
      else this.#push({ kind: 'literal', character })
    }
    const [tokens, ...open] = this.#branches
    if (tokens === undefined || open.length > 0) {
      throw new GlobError("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)")
    }
    return tokens
  }

  #push(token: Token): void {
    this.#branches.at(-1)?.push(token)
  }

  #closeAlternates(): void {
    const start = this.#starts.pop()
    if (start === undefined) {
      throw new GlobError("unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)")
    }
    const branches = this.#branches.splice(start)
    this.#push({ kind: 'alternates', branches })
  }

  #escape(): void {
    const character = this.#characters[this.#at++]
    if (character === undefined) throw new GlobError("dangling '\\'")
    this.#push({ kind: 'literal', character })
  }

  /** The character before was `*`; two of them mean more where they fill a whole part of a path. */
  #star(): void {
    const before = this.#characters[this.#at - 2]
    if (this.#characters[this.#at] !== '*') {
      this.#push({ kind: 'star' })
      return
    }
    this.#at += 1
    const next = this.#characters[this.#at]
    const twoStars = (): void => {
      this.#push({ kind: 'star' })
      this.#push({ kind: 'star' })
    }
    if (this.#branches.at(-1)?.length === 0) {
      if (next !== undefined && next !== '/') twoStars()
      else {
        this.#push({ kind: 'prefix' })
        this.#at += 1
      }
      return
    }
    const inAlternates = this.#branches.length >= 2
    if (before !== '/' && !(inAlternates && (before === ',' || before === '{'))) {
      twoStars()
      return
    }
    let suffix = true
    if (next === '/') {
      this.#at += 1
      suffix = false
    } else if (next !== undefined && !(inAlternates && (next === ',' || next === '}'))) {
      twoStars()
      return
    }
    const last = this.#branches.at(-1)?.pop()
    if (last?.kind === 'prefix' || last?.kind === 'suffix') this.#push(last)
    else this.#push({ kind: suffix ? 'suffix' : 'between' })
  }

  #class(): void {
    const start = this.#at
    const ranges: [string, string][] = []
    let negated = false
    if (this.#characters[this.#at] === '!' || this.#characters[this.#at] === '^') {
      negated = true
      this.#at += 1
    }
    let first = true
    let inRange = false
    const close = (character: string): void => {
      const last = ranges.at(-1)
      if (last === undefined) return
      last[1] = character
      if (codeOf(last[1]) < codeOf(last[0])) {
        throw new GlobError(`invalid character range; '${last[0]}' > '${last[1]}'`)
      }
    }
    for (;;) {
      const character = this.#characters[this.#at++]
      if (character === undefined) {
        if (!this.#options.allowUnclosedClass) throw new GlobError("unclosed character class; missing ']'")
        this.#at = start
        this.#unclosedClass = true
        this.#push({ kind: 'literal', character: '[' })
        return
      }
      if (character === ']' && !first) break
      if (character === '-' && !first && !inRange) inRange = true
      else if (inRange) {
        close(character)
        inRange = false
      } else ranges.push([character, character])
      first = false
    }
    if (inRange) ranges.push(['-', '-'])
    this.#push({ kind: 'class', negated, ranges })
  }
}

function sourceOf(tokens: readonly Token[], options: GlobOptions): string {
  return tokens.map((token) => sourceOfToken(token, options)).join('')
}

function sourceOfToken(token: Token, options: GlobOptions): string {
  switch (token.kind) {
    case 'literal':
      return [...Buffer.from(token.character)].map((byte) => byteSource(byte, options.ignoreCase)).join('')
    case 'any':
      return '[^/]'
    case 'star':
      return '[^/]*'
    case 'prefix':
      return '(?:/?|.*/)'
    case 'suffix':
      return '/.*'
    case 'between':
      return '(?:/|/.*/)'
    case 'class':
      return classSource(token.negated, token.ranges, options.ignoreCase)
    case 'alternates': {
      const parts = token.branches.map((branch) => sourceOf(branch, options)).filter((part) => part !== '')
      return parts.length === 0 ? '' : `(?:${parts.join('|')})`
    }
  }
}

function byteSource(byte: number, ignoreCase: boolean): string {
  const other = ignoreCase ? otherCase(byte) : undefined
  return other === undefined ? hex(byte) : `[${hex(byte)}${hex(other)}]`
}

/** A character beyond ASCII stands for each of its bytes, and a range reaches from byte to byte. */
function classSource(
  negated: boolean,
  ranges: readonly (readonly [string, string])[],
  ignoreCase: boolean,
): string {
  const bytes = new Set<number>()
  for (const [from, to] of ranges) {
    const [low, high] = [[...Buffer.from(from)], [...Buffer.from(to)]]
    if (from === to) {
      for (const byte of low) bytes.add(byte)
      continue
    }
    for (const byte of [...low.slice(0, -1), ...high.slice(1)]) bytes.add(byte)
    const [first, last] = [low.at(-1) ?? 0, high[0] ?? 0]
    if (first > last) throw new GlobError(`invalid character range; '${from}' > '${to}'`)
    for (let byte = first; byte <= last; byte += 1) bytes.add(byte)
  }
  if (ignoreCase) {
    for (const byte of [...bytes]) {
      const other = otherCase(byte)
      if (other !== undefined) bytes.add(other)
    }
  }
  return `[${negated ? '^' : ''}${[...bytes].map(hex).join('')}]`
}

function otherCase(byte: number): number | undefined {
  const letter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a
  return letter ? byte ^ 0x20 : undefined
}

function hex(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0
}
