/**
 * The names of machines that the configuration mentions. Reads the files and nothing else: no program is
 * run, no value is decided, every Include is followed whatever block it stands in.
 */
import { dirname } from 'node:path'
import { readConfigFile, type Line } from './config-file.ts'
import { isSafeHostName } from './destination.ts'
import { expandAll } from './expand.ts'
import { localFacts, type LocalFacts } from './facts.ts'
import { includedFiles, type Origin } from './include.ts'
import { readSetting } from './keywords.ts'
import { readCriteria } from './match.ts'
import { INCLUDE_DEPTH } from './pass.ts'
import { matchesList } from './patterns.ts'
import { ConfigProblem } from './problem.ts'
import type { ConfigSources } from './settings.ts'

export interface AliasList {
  /** Host names without wildcards, in the order of the files, each once. */
  readonly aliases: readonly string[]
  /**
   * Every file that was read, every one whose absence made a difference, and the folders that wildcards
   * were looked up in: the list can only change when one of these does.
   */
  readonly files: readonly string[]
  /** What was left out and why, each with its file. */
  readonly warnings: readonly string[]
}

export function listAliases(sources: ConfigSources, facts: LocalFacts = localFacts()): AliasList {
  const listing = new Listing(facts)
  const user: Origin = { folder: dirname(sources.userFile), tilde: true }
  if (sources.onlyFile === undefined) {
    listing.file(sources.userFile, user, [])
    listing.file(sources.systemFile, { folder: dirname(sources.systemFile), tilde: false }, [])
  } else if (listing.file(sources.onlyFile, user, []) === 'absent') {
    listing.warnings.add(`${sources.onlyFile}: there is no such file`)
  }
  return {
    aliases: [...listing.aliases],
    files: [...listing.files],
    warnings: [...listing.warnings],
  }
}

class Listing {
  readonly aliases = new Set<string>()
  readonly files = new Set<string>()
  readonly warnings = new Set<string>()
  readonly #facts: LocalFacts
  #ignored = ''

  constructor(facts: LocalFacts) {
    this.#facts = facts
  }

  file(path: string, origin: Origin, above: readonly string[]): 'read' | 'absent' | 'unreadable' {
    this.files.add(path)
    const file = readConfigFile(path)
    if (file.kind === 'unreadable') this.warnings.add(`${path} cannot be read: ${file.why}`)
    if (file.kind !== 'read') return file.kind
    for (const line of file.lines) this.#line(line, origin, [...above, path])
    return 'read'
  }

  #line(line: Line, origin: Origin, above: readonly string[]): void {
    const { keyword, words, where } = line
    if (words === undefined) this.warnings.add(`${where}: a quote is not closed, the line is left out`)
    else if (keyword === 'host') this.#names(words, where)
    else if (keyword === 'include') this.#include(words, where, origin, above)
    else if (keyword === 'match') this.#match(words, where)
    else this.#setting(line, words)
  }

  #names(words: readonly string[], where: string): void {
    for (const word of words) {
      if (/[*?!]/.test(word)) continue
      if (isSafeHostName(word) && !word.includes('@')) this.aliases.add(word)
      else this.warnings.add(`${where}: "${word}" cannot be the name of a machine`)
    }
  }

  #include(patterns: readonly string[], where: string, origin: Origin, above: readonly string[]): void {
    if (above.length > INCLUDE_DEPTH) {
      this.warnings.add(`${where}: files are included too deep, not followed`)
      return
    }
    for (const path of patterns.flatMap((pattern) => this.#included(pattern, where, origin))) {
      if (above.includes(path)) this.warnings.add(`${where}: ${path} includes itself, not followed again`)
      // Its names are in the list already, wherever it was first included.
      else if (!this.files.has(path)) this.file(path, origin, above)
    }
  }

  #included(pattern: string, where: string, origin: Origin): readonly string[] {
    try {
      const path = expandAll(pattern, this.#tokens(), this.#facts.env)
      const { files, folders, unreadable } = includedFiles(path, origin, this.#facts)
      for (const folder of folders) this.files.add(folder)
      for (const why of unreadable) this.warnings.add(`${where}: ${why}`)
      return files
    } catch (error) {
      if (!(error instanceof ConfigProblem)) throw error
      this.warnings.add(`${where}: ${error.message}, not followed`)
      return []
    }
  }

  /** What depends on the destination may be anything here. */
  #tokens(): ReadonlyMap<string, string> {
    const { home, uid, user, hostname } = this.#facts
    const anything = [...'Chjknpr'].map((letter): [string, string] => [letter, '*'])
    const short = hostname.replace(/\..*$/s, '')
    return new Map([...anything, ['d', home], ['i', uid], ['u', user], ['l', hostname], ['L', short]])
  }

  #match(words: readonly string[], where: string): void {
    const criteria = readCriteria(words)
    if ('problem' in criteria) this.warnings.add(`${where}: ${criteria.problem}, the block is left out`)
  }

  #setting({ keyword, rest, where }: Line, words: readonly string[]): void {
    const setting = readSetting(keyword, words, rest)
    if (setting.kind === 'bad-value') this.warnings.add(`${where}: ${setting.problem}, the line is left out`)
    if (setting.kind === 'values' && setting.name === 'ignoreunknown') this.#ignored ||= setting.values.join()
    if (setting.kind === 'unknown-keyword' && !matchesList(keyword, this.#ignored.toLowerCase())) {
      this.warnings.add(`${where}: unknown keyword "${keyword}", the line is left out`)
    }
  }
}
