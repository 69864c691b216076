/**
 * What the machine's grep finds while the tree is still being listed: what it is told, when it is not worth
 * waiting for, and what its answer says of a file. It may have looked at more files than are searched, never
 * at fewer without saying so; which are searched is decided elsewhere.
 */
import { quoteAll } from '../../../base/shell-word.ts'
import { contentsOf, type CandidateFile } from './contents.ts'
import type { Frame } from './frames.ts'
import type { FileFacts, FoundFile } from './tree.ts'

/** The base names that a search may be for, by its globs: patterns for grep's command line, or all names. */
export class WantedNames {
  readonly #patterns: readonly string[] | undefined
  readonly #expressions: readonly RegExp[]

  /** @param globs - as ripgrep's; those with a leading `!` rule files out, and count for nothing here. */
  constructor(globs: readonly string[]) {
    const wanted = globs.filter((glob) => !glob.startsWith('!'))
    const patterns = wanted.map(lastPatterns)
    this.#patterns =
      wanted.length === 0 || patterns.includes(undefined) ? undefined : patterns.flatMap((some) => some ?? [])
    this.#expressions = (this.#patterns ?? []).map(
      (pattern) => new RegExp(`^${pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '.*')}$`, 's'),
    )
  }

  /** Quoted words for grep. @param closed - patterns of folders that it does not enter. */
  options(closed: readonly string[]): string {
    return quoteAll([
      ...closed.map((name) => `--exclude-dir=${name}`),
      ...(this.#patterns ?? []).map((pattern) => `--include=${pattern}`),
    ])
  }

  includes(name: string): boolean {
    return this.#patterns === undefined || this.#expressions.some((expression) => expression.test(name))
  }
}

/** What a file's own name must be like for a glob to match it; undefined: that is not easily said. */
function lastPatterns(glob: string): string[] | undefined {
  const [, head, middle, tail] = /^(?:[\w.*-]+\/)*([\w.*-]*)(?:\{([\w.,-]+)\})?([\w.*-]*)$/.exec(glob) ?? []
  if (head === undefined || tail === undefined) return undefined
  const patterns = (middle ?? '').split(',').map((branch) => `${head}${branch}${tail}`)
  return patterns.every((pattern) => pattern !== '' && !pattern.includes('**')) ? patterns : undefined
}

/** What opening a file costs, as bytes that could be read meanwhile. */
const OPENING = 32 * 1024
/** So much is read in vain before it is looked at what else there is to read. */
const HARDLY_ANYTHING = 64 * 1024 * 1024

/** Whether all that grep's walk reads is not much more than what is to be read anyway. */
export function isWorthWaiting(
  listed: Iterable<FoundFile>,
  names: WantedNames,
  searched: Iterable<FileFacts>,
): boolean {
  let [all, wanted] = [0, 0]
  for (const { name, facts } of listed) if (names.includes(name)) all += costOf(facts)
  for (const file of searched) wanted += costOf(file)
  return wanted > 0 && all <= 2 * wanted + HARDLY_ANYTHING
}

/** Nothing of a file that the walk did not come by. */
function costOf({ size }: FileFacts): number {
  return size === undefined ? 0 : OPENING + size
}

export class EarlyFindings {
  /** Files that may match and came along. */
  readonly shown: ReadonlyMap<string, CandidateFile>
  readonly #named: ReadonlySet<string>
  readonly #unread: ReadonlySet<string>

  constructor(
    named: ReadonlySet<string>,
    unread: ReadonlySet<string>,
    shown: ReadonlyMap<string, CandidateFile>,
  ) {
    this.#named = named
    this.#unread = unread
    this.shown = shown
  }

  /** @param name - as scripts take it; of a file that was there to be looked at. */
  verdict(name: string): 'matches' | 'does-not' | 'unknown' {
    if (this.#named.has(name)) return 'matches'
    // Names and complaints are lines.
    if (name.includes('\n')) return 'unknown'
    if (this.#unread.size > 0) {
      for (let end = name.length; end > 0; end = name.lastIndexOf('/', end - 1)) {
        if (this.#unread.has(name.slice(0, end))) return 'unknown'
      }
    }
    return 'does-not'
  }
}

/** A search that is under way. */
export class EarlySearch {
  readonly #frames: AsyncGenerator<Frame>

  /** @param frames - of the listing, from the point where the listing is there. */
  constructor(frames: AsyncGenerator<Frame>) {
    this.#frames = frames
  }

  /** @returns undefined when the machine has no grep for this, or one that failed. */
  async findings(): Promise<EarlyFindings | undefined> {
    let lines: readonly string[] | undefined
    let exitCode = ''
    let [sizes, contents]: [string, Buffer] = ['', Buffer.alloc(0)]
    const shown = new Map<string, CandidateFile>()
    for await (const { kind, name, content } of this.#frames) {
      switch (kind) {
        case 'named':
          exitCode = name
          lines = content
            .toString('latin1')
            .split('\n')
            .filter((line) => line !== '')
          break
        case 'sizes':
          sizes = content.toString('latin1')
          break
        case 'contents':
          contents = content
          break
        case 'after':
          for (const file of contentsOf({ sizes, contents, after: content.toString('latin1') }) ?? []) {
            shown.set(file.name, file)
          }
      }
    }
    if (lines === undefined) return undefined
    const unread = unreadOf(lines, exitCode)
    return unread === undefined ? undefined : new EarlyFindings(new Set(lines), unread, shown)
  }

  /** Leave nothing of it running. */
  async abandon(): Promise<void> {
    await this.#frames.return(undefined)
  }
}

/** What could not be read, files and folders; undefined when that is not certain. */
function unreadOf(lines: readonly string[], exitCode: string): ReadonlySet<string> | undefined {
  const complaints = lines.filter((line) => !line.startsWith('./'))
  const unread = complaints.map(
    (line) => /^(?:\/\S+\/)?grep: (\.\/.*): (?:Permission denied|No such file or directory)$/.exec(line)?.[1],
  )
  const understood = unread.filter((path) => path !== undefined)
  if (understood.length < complaints.length) return undefined
  const explained = exitCode === '2' ? complaints.length > 0 : exitCode === '0' || exitCode === '1'
  return explained ? new Set(understood) : undefined
}
