/**
 * One reading of the configuration files for one destination: which blocks hold, what Include brings in,
 * and which value of a keyword is kept. `evaluate.ts` may ask for two readings.
 */
import { dirname } from 'node:path'
import { readConfigFile, type ConfigFile, type Line } from './config-file.ts'
import { allTokens, expandAll, expandTokens, type Tokens } from './expand.ts'
import type { LocalFacts } from './facts.ts'
import { includedFiles, type Origin } from './include.ts'
import { isNone, readSetting, resemblesBlock, type Setting } from './keywords.ts'
import { asksSecondPass, criteriaHold, readCriteria, type Criterion } from './match.ts'
import { parseJumpHost } from './destination.ts'
import { matchesList, matchesPattern } from './patterns.ts'
import { firstOf } from './printed.ts'
import { ConfigProblem } from './problem.ts'
import type { ConfigSources } from './settings.ts'

/** Runs one command of `Match exec`; true when it ended with success. */
export type ExecRunner = (command: string) => Promise<boolean>

export interface PassInput {
  /** The destination as typed. */
  readonly typed: string
  /** What `Host` patterns are held against: the typed name, in a second reading the dialled one. */
  readonly host: string
  readonly second: boolean
  /** Values so far; this reading adds to them. */
  readonly values: Map<string, string[]>
  readonly facts: LocalFacts
  readonly sources: ConfigSources
  readonly runExec: ExecRunner | undefined
  readonly warn: (text: string) => void
  /** Told of each file that decides: also of one that is not there. */
  readonly seen: (path: string, file: ConfigFile) => void
  /** Told when something outside of the files decides. */
  readonly unsure: () => void
}

/** Files within files, as deep as OpenSSH goes. */
export const INCLUDE_DEPTH = 16
/** More files than any real configuration; files that include each other crosswise end here. */
const MOST_FILES = 2_000

export async function readPass(input: PassInput): Promise<{ asksSecondPass: boolean }> {
  const pass = new Pass(input)
  await pass.read()
  return { asksSecondPass: pass.asksSecondPass }
}

class Pass {
  asksSecondPass = false
  #files = 0
  readonly #in: PassInput

  constructor(input: PassInput) {
    this.#in = input
  }

  async read(): Promise<void> {
    const { onlyFile, userFile, systemFile } = this.#in.sources
    const user: Origin = { folder: dirname(userFile), tilde: true }
    if (onlyFile !== undefined) return this.#file(onlyFile, user, true, [])
    await this.#file(userFile, user, true, [])
    await this.#file(systemFile, { folder: dirname(systemFile), tilde: false }, true, [])
  }

  /** @param holds Whether the block around the Include holds; if not, nothing in the file can. */
  async #file(path: string, origin: Origin, holds: boolean, above: readonly string[]): Promise<void> {
    const { sources, warn } = this.#in
    this.#files += 1
    if (this.#files > MOST_FILES) throw new ConfigProblem(`more than ${MOST_FILES} files are included`)
    const file = readConfigFile(path)
    this.#in.seen(path, file)
    if (file.kind === 'absent') {
      if (path === sources.onlyFile) throw new ConfigProblem(`there is no file ${path}`)
      return
    }
    if (file.kind === 'unreadable') {
      if (path === sources.onlyFile) throw new ConfigProblem(`${path} cannot be read: ${file.why}`)
      return warn(`${path} cannot be read: ${file.why}`)
    }
    // As `ssh`: a file named outright is believed, and the system's is the system's business.
    const named = above.length === 0 && (path === sources.onlyFile || path === sources.systemFile)
    if (file.othersMayWrite && !named) {
      throw new ConfigProblem(`${path} belongs to somebody else or may be written by others`)
    }
    let active = holds
    for (const line of file.lines) {
      const { keyword, words, where } = line
      if (words === undefined) {
        warn(`${where}: a quote is not closed, the line is left out`)
        if (keyword === 'host' || keyword === 'match') active = false
      } else if (keyword === 'host') active = holds && this.#hostHolds(words)
      else if (keyword === 'match') active = await this.#matchHolds(line, words, holds)
      else if (keyword === 'include') await this.#include(words, where, origin, active, [...above, path])
      else active = this.#setting(line, words, active)
    }
  }

  #hostHolds(patterns: readonly string[]): boolean {
    let matched = false
    for (const pattern of patterns) {
      const negated = pattern.startsWith('!')
      if (!matchesPattern(this.#in.host, negated ? pattern.slice(1) : pattern)) continue
      if (negated) return false
      matched = true
    }
    return matched
  }

  async #matchHolds({ where }: Line, words: readonly string[], holds: boolean): Promise<boolean> {
    const criteria = readCriteria(words)
    if ('problem' in criteria) {
      this.#in.warn(`${where}: ${criteria.problem}, the block is left out`)
      return false
    }
    this.asksSecondPass ||= asksSecondPass(criteria)
    if (criteria.some(({ name }) => name === 'localnetwork')) this.#in.unsure()
    return holds && this.#criteriaHold(criteria)
  }

  #criteriaHold(criteria: readonly Criterion[]): Promise<boolean> {
    const { typed, second, values, facts, runExec, unsure } = this.#in
    const subject = {
      host: this.#hostSoFar(),
      originalHost: typed,
      user: firstOf(values, 'user') ?? facts.user,
      localUser: facts.user,
      tag: firstOf(values, 'tag') ?? '',
      secondPass: second,
    }
    return criteriaHold(criteria, subject, async (command) => {
      unsure()
      return runExec?.(expandTokens(command, this.#tokensSoFar()))
    })
  }

  #hostSoFar(): string {
    const { host, second, values } = this.#in
    const configured = firstOf(values, 'hostname')
    if (configured === undefined) return host
    return second ? configured : expandTokens(configured, new Map([['h', host]]))
  }

  #tokensSoFar(): Tokens {
    const { typed, values, facts } = this.#in
    const host = this.#hostSoFar()
    const jump = firstOf(values, 'proxyjump') ?? ''
    const destination = {
      typed,
      host,
      port: firstOf(values, 'port') ?? '22',
      user: firstOf(values, 'user') ?? facts.user,
      keyAlias: firstOf(values, 'hostkeyalias') ?? host,
      jump: isNone(jump) ? '' : jump,
    }
    return allTokens(destination, facts)
  }

  async #include(
    patterns: readonly string[],
    where: string,
    origin: Origin,
    active: boolean,
    above: readonly string[],
  ): Promise<void> {
    const { warn } = this.#in
    if (above.length > INCLUDE_DEPTH) return warn(`${where}: files are included too deep, not followed`)
    for (const pattern of patterns) {
      for (const file of this.#included(pattern, where, origin)) {
        if (above.includes(file)) warn(`${where}: ${file} includes itself, not followed again`)
        else await this.#file(file, origin, active, above)
      }
    }
  }

  #included(pattern: string, where: string, origin: Origin): readonly string[] {
    const { facts, warn } = this.#in
    try {
      const path = expandAll(pattern, this.#tokensSoFar(), facts.env)
      const { files, unreadable } = includedFiles(path, origin, facts)
      for (const why of unreadable) warn(`${where}: ${why}`)
      return files
    } catch (error) {
      if (!(error instanceof ConfigProblem)) throw error
      warn(`${where}: ${error.message}, not followed`)
      return []
    }
  }

  /** @returns whether the block still holds after this line. */
  #setting({ keyword, rest, where }: Line, words: readonly string[], active: boolean): boolean {
    const { warn } = this.#in
    const setting = readSetting(keyword, words, rest)
    if (setting.kind === 'unknown-keyword' && !this.#isIgnored(keyword)) {
      if (resemblesBlock(keyword)) {
        warn(`${where}: "${keyword}" is not a keyword; the lines below it are left out`)
        return false
      }
      warn(`${where}: unknown keyword "${keyword}", the line is left out`)
    } else if (setting.kind === 'bad-value') warn(`${where}: ${setting.problem}, the line is left out`)
    else if (setting.kind === 'values' && active) this.#keep(setting, where)
    return active
  }

  #isIgnored(keyword: string): boolean {
    const ignored = firstOf(this.#in.values, 'ignoreunknown')
    return ignored !== undefined && matchesList(keyword, ignored.toLowerCase())
  }

  #keep({ name, keep, values: added }: Extract<Setting, { kind: 'values' }>, where: string): void {
    const { values, warn } = this.#in
    const known = values.get(name)
    if (name === 'proxyjump') {
      const jump = (added[0] ?? '').replace(/#.*$/s, '').trim()
      const wrong = isNone(jump) ? undefined : jump.split(',').find((hop) => parseJumpHost(hop) === undefined)
      if (wrong !== undefined) warn(`${where}: "${wrong}" is not a jump host, the line is left out`)
      // A ProxyCommand above, even `none`, shuts a jump out; `ProxyJump none` shuts out later jumps only.
      else if (known === undefined && (isNone(jump) || !values.has('proxycommand'))) values.set(name, [jump])
    } else if (name === 'proxycommand') {
      if (known === undefined && isNone(firstOf(values, 'proxyjump') ?? 'none')) values.set(name, added)
    } else if (keep === 'each') {
      values.set(name, [...(known ?? []), ...added.filter((value) => known?.includes(value) !== true)])
    } else if (known === undefined) values.set(name, added)
  }
}
