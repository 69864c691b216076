/**
 * Ignore files and `--glob` options, with ripgrep's meaning: one list of globs each, of which the last
 * that matches decides. Paths are strings of bytes (latin1).
 */
import { GlobError, globToRegExp } from './glob.ts'

export type Verdict = 'ignore' | 'whitelist' | undefined

interface Rule {
  readonly expression: RegExp
  readonly whitelist: boolean
  readonly foldersOnly: boolean
}

export interface RuleOptions {
  readonly ignoreCase: boolean
  readonly allowUnclosedClass: boolean
}

export class IgnoreRules {
  readonly #rules: readonly Rule[]

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  get size(): number {
    return this.#rules.length
  }

  get whitelists(): number {
    return this.#rules.filter(({ whitelist }) => whitelist).length
  }

  get ignores(): number {
    return this.size - this.whitelists
  }

  /** @param path - relative to the folder that the rules are for. */
  verdict(path: string, isFolder: boolean): Verdict {
    for (let at = this.#rules.length - 1; at >= 0; at -= 1) {
      const rule = this.#rules[at]
      if (rule === undefined || (rule.foldersOnly && !isFolder)) continue
      if (rule.expression.test(path)) return rule.whitelist ? 'whitelist' : 'ignore'
    }
    return undefined
  }
}

export interface IgnoreFile {
  readonly rules: IgnoreRules
  /** What could not be understood, in ripgrep's words. */
  readonly problems: readonly string[]
}

/** The globs of an ignore file. What cannot be understood is left out, and what is not UTF-8 ends it. */
export function readIgnoreFile(content: Buffer): IgnoreFile {
  const rules: Rule[] = []
  const problems: string[] = []
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let number = 0
  for (const bytes of linesOf(content)) {
    number += 1
    let line: string
    try {
      line = decoder.decode(bytes)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      problems.push(`line ${number}: stream did not contain valid UTF-8`)
      break
    }
    try {
      const rule = parseRule(number === 1 ? line.replace(/^\u{feff}+/u, '') : line, FILE_OPTIONS)
      if (rule !== undefined) rules.push(rule)
    } catch (error) {
      if (!(error instanceof GlobError)) throw error
      const glob = line.replace(/\p{White_Space}+$/u, '')
      problems.push(`line ${number}: error parsing glob '${glob}': ${error.message}`)
    }
  }
  return { rules: new IgnoreRules(rules), problems }
}

const FILE_OPTIONS: RuleOptions = { ignoreCase: false, allowUnclosedClass: true }

/** One line; undefined when it holds no glob. @throws GlobError. */
export function parseRule(text: string, options: RuleOptions): Rule | undefined {
  if (text.startsWith('#')) return undefined
  let line = text.endsWith('\\ ') ? text : text.replace(/\p{White_Space}+$/u, '')
  if (line === '') return undefined
  let whitelist = false
  let anchored = false
  if (line.startsWith('\\!') || line.startsWith('\\#')) line = line.slice(1)
  else {
    if (line.startsWith('!')) {
      whitelist = true
      line = line.slice(1)
    }
    if (line.startsWith('/')) {
      line = line.slice(1)
      anchored = true
    }
  }
  const foldersOnly = line.endsWith('/')
  if (foldersOnly) {
    line = line.slice(0, -1)
    if (line.endsWith('\\')) line = line.slice(0, -1)
  }
  let glob = line
  if (!anchored && !line.includes('/') && !(line.startsWith('**/') || line === '**')) glob = `**/${line}`
  if (glob.endsWith('/**')) glob = `${glob}/*`
  return { expression: globToRegExp(glob, options), whitelist, foldersOnly }
}

function* linesOf(content: Buffer): Generator<Buffer> {
  let at = 0
  while (at < content.length) {
    const end = content.indexOf(0x0a, at)
    const stop = end < 0 ? content.length : end
    const withoutReturn = end >= 0 && stop > at && content[stop - 1] === 0x0d ? stop - 1 : stop
    yield content.subarray(at, withoutReturn)
    at = stop + 1
  }
}
