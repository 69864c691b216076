/**
 * A search as ripgrep would do it, on a machine that has none: the machine lists, reads rules and names
 * files that may match; what is ignored and what matches is decided here.
 */
import { pause } from '../../../base/race.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { Machine } from '../../machine.ts'
import type { MachineSession } from '../../session.ts'
import { compareText } from '../rank.ts'
import { Asking } from './ask.ts'
import { LONGEST_FILE, readCandidates, type Candidates } from './candidates.ts'
import type { CandidateFile } from './contents.ts'
import { WantedNames } from './early.ts'
import { GlobError } from './glob.ts'
import { IgnoreRules, parseRule } from './ignore-rules.ts'
import { sourceOf, type LineSource, type NulRule } from './line-source.ts'
import { listTree, type Listing } from './listing.ts'
import { noTotals, recordsOf, summaryRecord } from './records.ts'
import { beyondLimit, invalidGlob, LACKING, notExact, SearchRefusal } from './refusal.ts'
import { PatternMatcher } from './regex/matcher.ts'
import { parsePattern } from './regex/parse.ts'
import { requiredWords, type RequiredWords } from './regex/required.ts'
import { readRgArgv, type RgRequest } from './rg-request.ts'
import { CHANGED } from './scripts.ts'
import type { FileEntry } from './tree.ts'

export interface SearchOutput {
  /** Resolves when there is room for more. */
  print(text: string | Buffer): Promise<void>
  complain(text: string): void
}

/** Callers have limits of their own, mostly shorter ones. */
const LONGEST_MS = 120_000
const MIB = 1024 * 1024
/** Of all files that are read here, in bytes. */
const MOST_READ = 512 * MIB

/**
 * @param argv - ripgrep's, the program first.
 * @returns ripgrep's exit code: 0 found, 1 nothing found, 2 something could not be searched.
 */
export async function ownSearch(
  machine: Machine,
  session: MachineSession,
  place: { readonly folder: RemotePath; readonly argv: readonly string[]; readonly signal: AbortSignal },
  output: SearchOutput,
): Promise<number> {
  const late = AbortSignal.timeout(LONGEST_MS)
  try {
    const request = readRgArgv(place.argv)
    const signal = AbortSignal.any([place.signal, late])
    return await new Search(machine, session, place.folder, request, signal, output).run()
  } catch (error) {
    if (late.aborted && !place.signal.aborted) {
      output.complain(`${beyondLimit('the search took longer than two minutes').message}\n`)
      return 2
    }
    if (!(error instanceof SearchRefusal)) throw error
    output.complain(`${error.message}\n`)
    return 2
  }
}

class Search {
  readonly #session: MachineSession
  readonly #folder: RemotePath
  readonly #request: RgRequest
  readonly #asking: Asking
  readonly #output: SearchOutput
  #failed = false
  /** The one file to search was named. */
  #named = false

  constructor(
    machine: Machine,
    session: MachineSession,
    folder: RemotePath,
    request: RgRequest,
    signal: AbortSignal,
    output: SearchOutput,
  ) {
    this.#session = session
    this.#folder = folder
    this.#request = request
    this.#asking = new Asking(machine, folder, signal)
    this.#output = output
  }

  async run(): Promise<number> {
    const { pattern, ignoreCase } = this.#request
    const matcher = pattern === undefined ? undefined : new PatternMatcher(pattern, ignoreCase)
    const overrides = this.#overrides()
    const { find } = this.#session.requireShell()
    if (find === 'none') throw new SearchRefusal(LACKING)
    const words = pattern === undefined ? undefined : requiredWords(parsePattern(pattern, ignoreCase))
    const listing = await listTree(this.#asking, this.#listingRequest(words), () => ({
      overrides,
      working: Buffer.from(this.#folder).toString('latin1'),
      known: this.#known,
    }))
    try {
      return await this.#answer(listing, matcher, words)
    } finally {
      if (listing.kind === 'folder') await listing.early?.abandon()
    }
  }

  async #answer(
    listing: Listing,
    matcher: PatternMatcher | undefined,
    words: RequiredWords | undefined,
  ): Promise<number> {
    const files = this.#searchedFiles(listing)
    if (matcher !== undefined && files?.length === 0 && this.#request.operand === undefined) {
      this.#complain(
        "No files were searched, which means ripgrep probably applied a filter you didn't expect.",
      )
    }
    const found =
      matcher === undefined
        ? await this.#names(files)
        : await this.#lines(await this.#candidates(listing, files, words), matcher)
    return this.#failed ? 2 : found ? 0 : 1
  }

  #overrides(): IgnoreRules {
    const { globs, globsIgnoreCase } = this.#request
    const rules = globs.flatMap((glob) => {
      try {
        return parseRule(glob, { ignoreCase: globsIgnoreCase, allowUnclosedClass: false }) ?? []
      } catch (error) {
        if (error instanceof GlobError) throw invalidGlob(glob, error.message)
        throw error
      }
    })
    return new IgnoreRules(rules)
  }

  #listingRequest(words: RequiredWords | undefined): Parameters<typeof listTree>[1] {
    const { hidden, ignoreRules, globs, globsIgnoreCase, sort } = this.#request
    const { find } = this.#session.requireShell()
    // Where find tells no sizes, nobody knows when to stop an early search.
    const early =
      words !== undefined && find === 'gnu' && !globsIgnoreCase
        ? { words, names: new WantedNames(globs) }
        : undefined
    return {
      root: this.#root,
      rules: ignoreRules,
      hidden,
      find,
      never: this.#never(),
      times: sort === 'modified',
      early,
    }
  }

  /** Names that the globs rule out wherever they are, such as those of version control. */
  #never(): string[] {
    const { globs } = this.#request
    const names = new Set<string>()
    for (const [index, glob] of globs.entries()) {
      const [, name] = /^!\*\*\/([\w.-]+)$/.exec(glob) ?? []
      // A later glob that includes anything might include this.
      if (name !== undefined && globs.slice(index).every((later) => later.startsWith('!'))) names.add(name)
    }
    return [...names]
  }

  /** The operand as scripts take it. */
  get #root(): string {
    const { operand } = this.#request
    if (operand === undefined) return this.#folder === '/' ? '/' : '.'
    return operand.startsWith('/') ? operand : `./${operand}`
  }

  /** A path as ripgrep spells it: like the operand. */
  readonly #spelled = (path: string): string => {
    const { operand } = this.#request
    if (operand === undefined) return path
    const base = Buffer.from(operand).toString('latin1')
    return base.endsWith('/') ? `${base}${path}` : `${base}/${path}`
  }

  readonly #known = (path: string): string => this.#spelled(path).replace(/^\.\//, '')

  /** The files to search, by paths relative to the root; the one file that was named is `undefined`. */
  #searchedFiles(listing: Listing): readonly FileEntry[] | undefined {
    const shown = this.#request.operand ?? './'
    switch (listing.kind) {
      case 'file':
        this.#named = true
        return undefined
      case 'missing':
        this.#complain(`${shown}: IO error for operation on ${shown}: No such file or directory (os error 2)`)
        return []
      case 'denied':
        this.#complain(`${shown}: Permission denied (os error 13)`)
        return []
      case 'other':
        throw notExact(`${shown}, which is neither a file nor a folder`, 'give a file or a folder')
      case 'folder':
        for (const path of listing.closed) {
          this.#complain(`${this.#shownText(path)}: Permission denied (os error 13)`)
        }
        for (const problem of listing.problems) this.#complain(problem)
        return listing.files
    }
  }

  #shownText(path: string): string {
    const { operand } = this.#request
    const spelled = operand === undefined ? `./${path}` : this.#spelled(path)
    return Buffer.from(spelled, 'latin1').toString('utf8')
  }

  #complain(text: string): void {
    this.#failed = true
    this.#output.complain(`rg: ${text}\n`)
  }

  async #names(files: readonly FileEntry[] | undefined): Promise<boolean> {
    const { separator, sort, operand } = this.#request
    if (files === undefined) {
      await this.#output.print(`${operand ?? ''}${separator}`)
      return true
    }
    const ordered = sort === 'modified' ? await this.#byTime(files) : files
    for (let at = 0; at < ordered.length; at += 1000) {
      const names = ordered.slice(at, at + 1000).map(({ path }) => `${this.#spelled(path)}${separator}`)
      await this.#output.print(Buffer.from(names.join(''), 'latin1'))
    }
    return ordered.length > 0
  }

  /** Oldest first; of the same time, by path. */
  async #byTime(files: readonly FileEntry[]): Promise<readonly FileEntry[]> {
    if (files.length < 2) return files
    const timed = files.every(({ changed }) => changed !== undefined) ? files : await this.#withTimes(files)
    return timed.toSorted((a, b) => compareTimes(a.changed ?? '', b.changed ?? ''))
  }

  async #withTimes(files: readonly FileEntry[]): Promise<FileEntry[]> {
    const { stat } = this.#session.requireShell()
    if (stat === 'none') throw notExact('the order of changes, for want of stat', 'use bash with ls -t')
    let times: string[] = []
    const args = [stat, this.#root]
    for await (const frame of this.#asking.frames({
      script: CHANGED,
      args,
      input: Buffer.from(
        namesOf(files)
          .map((name) => `${name}\0`)
          .join(''),
        'latin1',
      ),
      longestFrame: LONGEST_FILE,
    })) {
      if (frame.kind === 'times') times = frame.content.toString('latin1').split('\n').slice(0, -1)
    }
    if (times.length !== files.length) {
      throw new SearchRefusal('files came or went during the search; search again')
    }
    return files.map((file, index) => ({ ...file, changed: times[index] }))
  }

  async #candidates(
    listing: Listing,
    files: readonly FileEntry[] | undefined,
    words: RequiredWords | undefined,
  ): Promise<Candidates> {
    if (files === undefined) {
      const name = Buffer.from(this.#root).toString('latin1')
      return { files: [{ name, walked: false }], folder: '.', words: undefined, early: undefined }
    }
    const early = listing.kind === 'folder' ? await listing.early?.findings() : undefined
    const candidates = files.map(({ path, size }) => ({ name: `./${path}`, walked: size !== undefined }))
    return { files: candidates, folder: this.#root, words, early }
  }

  async #lines(candidates: Candidates, matcher: PatternMatcher): Promise<boolean> {
    const { operand = '' } = this.#request
    const totals = noTotals()
    const began = performance.now()
    let read = 0
    for await (const file of readCandidates(this.#asking, candidates)) {
      read += file.content.length
      if (read > MOST_READ) throw beyondLimit(`more than ${MOST_READ / MIB} MiB would have to be read`)
      const source = this.#sourceOf(file, this.#named ? 'search' : 'give-up')
      if (source === undefined) continue
      const path = this.#named
        ? Buffer.from(operand)
        : Buffer.from(this.#spelled(file.name.slice(2)), 'latin1')
      for (const text of recordsOf(path, source, matcher, totals)) {
        if (text === '') await pause(0)
        else await this.#output.print(text)
        this.#asking.signal.throwIfAborted()
      }
    }
    await this.#output.print(summaryRecord(totals, began))
    return totals.matchedLines > 0
  }

  /** Undefined for a file that cannot be read, which is told. */
  #sourceOf(file: CandidateFile, rule: NulRule): LineSource | undefined {
    switch (file.kind) {
      case 'file':
        return sourceOf(file.content, rule)
      case 'denied':
        this.#complain(`${this.#shownFile(file)}: Permission denied (os error 13)`)
        return undefined
      case 'gone':
        this.#complain(`${this.#shownFile(file)}: No such file or directory (os error 2)`)
        return undefined
      case 'too-long':
        throw beyondLimit(
          `${this.#shownFile(file)} is larger than ${LONGEST_FILE / MIB} MiB and may hold matches`,
        )
    }
  }

  #shownFile(file: CandidateFile): string {
    const { operand } = this.#request
    if (this.#named) return operand ?? ''
    return Buffer.from(this.#spelled(file.name.slice(2)), 'latin1').toString('utf8')
  }
}

/** As scripts take them, bytes as latin1. */
function namesOf(files: readonly FileEntry[]): string[] {
  return files.map(({ path }) => `./${path}`)
}

/** Of one spelling each: `1700000000.123`, or `2026-11-30 12:00:00.123 +0000`. */
function compareTimes(a: string, b: string): number {
  const [wholeA = '', partA = ''] = a.split('.')
  const [wholeB = '', partB = ''] = b.split('.')
  const seconds = wholeA.includes(' ') ? compareText(wholeA, wholeB) : Number(wholeA) - Number(wholeB)
  return seconds === 0 ? compareText(partA, partB) : seconds
}
