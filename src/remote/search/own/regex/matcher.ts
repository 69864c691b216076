/**
 * Finds a pattern in lines of bytes: first whether a line holds it, by states that are made as they are
 * met; then, in the few lines that do, where, by running all ways at once in order of preference.
 */
import { INVALID, WORD_CHARACTERS } from './character-set.ts'
import { parsePattern } from './parse.ts'
import { compile, type Step } from './program.ts'
import type { Assertion } from './syntax.ts'

export interface Span {
  /** Offsets in bytes from the begin of the line. */
  readonly start: number
  readonly end: number
}

/** What stands on one side of a place: nothing, a word character, another one, or a broken byte. */
const NOTHING = 0
const WORD = 1
const OTHER = 2
const BROKEN = 3
type Side = typeof NOTHING | typeof WORD | typeof OTHER | typeof BROKEN

interface State {
  readonly steps: readonly number[]
  readonly before: Side
  readonly ascii: (State | 'match' | undefined)[]
  readonly others: Map<number, State | 'match'>
  atEnd: boolean | undefined
}

/** States that are kept before all are forgotten; a pattern that needs more is slow, not wrong. */
const MOST_STATES = 3000

export class PatternMatcher {
  readonly #steps: readonly Step[]
  readonly #states = new Map<string, State>()
  readonly #visited: Uint32Array
  #visit = 0

  /** @throws SearchRefusal. */
  constructor(pattern: string, ignoreCase: boolean) {
    this.#steps = compile(parsePattern(pattern, ignoreCase))
    this.#visited = new Uint32Array(this.#steps.length)
  }

  /** Whether the bytes from `start` to `end`, one line without its line end, hold a match. */
  test(bytes: Buffer, start: number, end: number): boolean {
    let state = this.#state([], NOTHING)
    let at = start
    while (at < end) {
      const byte = bytes[at] ?? 0
      let next: State | 'match'
      if (byte < 0x80) {
        next = state.ascii[byte] ?? this.#nextAscii(state, byte)
        at += 1
      } else {
        const code = decode(bytes, at, end)
        at += lengthOf(code)
        next = this.#next(state, code, code === INVALID ? sideBefore(bytes, start, at) : sideOf(code))
      }
      if (next === 'match') return true
      state = next
    }
    state.atEnd ??= this.#closure([...state.steps, 0], state.before, NOTHING).matched
    return state.atEnd
  }

  /** Every match of a line, in order, none overlapping another. @param open - the file ends with this line, without a line end. */
  spans(bytes: Buffer, start: number, end: number, open: boolean): Span[] {
    const spans: Span[] = []
    let from = start
    let last = -1
    while (from <= end) {
      const span = this.#find(bytes, start, from, end)
      if (span === undefined) break
      const empty = span.start === span.end
      from = empty ? span.end + 1 : span.end
      if (empty && span.end === last) continue
      last = span.end
      if (open && span.start >= end) break
      spans.push({ start: span.start - start, end: span.end - start })
    }
    return spans
  }

  #state(steps: readonly number[], before: Side): State {
    const key = `${before}:${steps.join()}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    if (this.#states.size >= MOST_STATES) this.#states.clear()
    const state: State = { steps, before, ascii: [], others: new Map(), atEnd: undefined }
    this.#states.set(key, state)
    return state
  }

  #nextAscii(state: State, code: number): State | 'match' {
    const next = this.#step(state, code, sideOf(code))
    state.ascii[code] = next
    return next
  }

  /** @param passed - what is behind the character for what comes after it. */
  #next(state: State, code: number, passed: Side): State | 'match' {
    const key = code === INVALID ? INVALID - passed : code
    const known = state.others.get(key)
    if (known !== undefined) return known
    const next = this.#step(state, code, passed)
    state.others.set(key, next)
    return next
  }

  #step(state: State, code: number, passed: Side): State | 'match' {
    const { characters, matched } = this.#closure([...state.steps, 0], state.before, sideOf(code))
    if (matched) return 'match'
    const next: number[] = []
    for (const at of characters) {
      const step = this.#steps[at]
      if (step?.kind === 'character' && step.set.has(code)) next.push(at + 1)
    }
    next.sort((a, b) => a - b)
    return this.#state(next, passed)
  }

  /** The characters that may come next from these steps, and whether a match ends here. */
  #closure(
    from: readonly number[],
    before: Side,
    after: Side,
  ): { readonly characters: number[]; readonly matched: boolean } {
    const characters: number[] = []
    let matched = false
    this.#newVisit()
    for (const step of from) {
      this.#walk(step, before, after, (at) => {
        if (this.#steps[at]?.kind === 'match') matched = true
        else characters.push(at)
        return matched
      })
    }
    return { characters, matched }
  }

  #newVisit(): void {
    this.#visit += 1
    if (this.#visit > 0xffff_fff0) {
      this.#visited.fill(0)
      this.#visit = 1
    }
  }

  /**
   * Follow a step through forks and assertions, in order of preference, to every character or match.
   * @param arrived - answers true when no other way matters any more.
   */
  #walk(from: number, before: Side, after: Side, arrived: (at: number) => boolean): boolean {
    const waiting = [from]
    for (;;) {
      const at = waiting.pop()
      if (at === undefined) return false
      if (this.#visited[at] === this.#visit) continue
      this.#visited[at] = this.#visit
      const step = this.#steps[at]
      switch (step?.kind) {
        case 'jump':
          waiting.push(step.to)
          break
        case 'fork':
          waiting.push(step.second, step.first)
          break
        case 'assertion':
          if (holds(step.what, before, after)) waiting.push(at + 1)
          break
        default:
          if (arrived(at)) return true
      }
    }
  }

  /** The first match at or after `from`: leftmost, then most preferred. */
  #find(bytes: Buffer, start: number, from: number, end: number): Span | undefined {
    let threads: { readonly at: number; readonly start: number }[] = []
    let found: Span | undefined
    let at = from
    let before = sideBefore(bytes, start, from)
    for (;;) {
      if (threads.length === 0 && found !== undefined) return found
      const code = at < end ? decode(bytes, at, end) : undefined
      const after = code === undefined ? NOTHING : sideOf(code)
      const next: typeof threads = []
      this.#newVisit()
      if (found === undefined) threads.push({ at: 0, start: at })
      for (const thread of threads) {
        const ended = this.#walk(thread.at, before, after, (arrived) => {
          const step = this.#steps[arrived]
          if (step?.kind === 'match') {
            found = { start: thread.start, end: at }
            return true
          }
          if (code !== undefined && step?.kind === 'character' && step.set.has(code)) {
            next.push({ at: arrived + 1, start: thread.start })
          }
          return false
        })
        if (ended) break
      }
      if (code === undefined) return found
      threads = next
      at += lengthOf(code)
      before = code === INVALID ? sideBefore(bytes, start, at) : after
    }
  }
}

function holds(what: Assertion, before: Side, after: Side): boolean {
  switch (what) {
    case 'line-start':
      return before === NOTHING
    case 'line-end':
      return after === NOTHING
    case 'border':
      return (before === WORD) !== (after === WORD)
    case 'no-border':
      return (before === WORD) === (after === WORD) && before !== BROKEN && after !== BROKEN
    case 'word-start':
      return before !== WORD && after === WORD
    case 'word-end':
      return before === WORD && after !== WORD
  }
}

function sideOf(code: number): Side {
  if (code === INVALID) return BROKEN
  return WORD_CHARACTERS.has(code) ? WORD : OTHER
}

/** Back to the last byte that may begin a character; what that is counts, even where broken bytes follow it. */
function sideBefore(bytes: Buffer, start: number, at: number): Side {
  if (at === start) return NOTHING
  // A line's first broken bytes are looked at together with the line end before them.
  const first = Math.max(start - 1, 0)
  let from = at - 1
  while (from > first && from > at - 4 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from -= 1
  return from < start ? OTHER : sideOf(decode(bytes, from, at))
}

/** The character at a place, or `INVALID` when its byte begins none. Strict: no surrogates, no long forms. */
export function decode(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) return first
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  if (first < 0xc2 || first > 0xf4 || at + length > end) return INVALID
  let code = first & (0xff >> (length + 1))
  for (let index = 1; index < length; index += 1) {
    const byte = bytes[at + index] ?? 0
    if ((byte & 0xc0) !== 0x80) return INVALID
    code = (code << 6) | (byte & 0x3f)
  }
  const least = length === 4 ? 0x10000 : length === 3 ? 0x800 : 0x80
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return INVALID
  return code
}

/** Bytes that a character takes; a broken byte is one. */
function lengthOf(code: number): number {
  if (code < 0x80) return 1
  return code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
}
