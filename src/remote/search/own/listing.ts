/**
 * Asks a machine for the tree below a folder, as much of it as the search needs: folders that are nearly
 * always ignored are not listed at first, and are when the rules turn out to let them be searched.
 */
import { quoteAll } from '../../../base/shell-word.ts'
import type { FindFlavour } from '../../capabilities.ts'
import type { Asking } from './ask.ts'
import { expressionOf } from './candidates.ts'
import { EarlySearch, isWorthWaiting, type WantedNames } from './early.ts'
import type { Frame } from './frames.ts'
import { excludesFileOf } from './git-config.ts'
import { IgnoreRules, readIgnoreFile } from './ignore-rules.ts'
import { beyondLimit } from './refusal.ts'
import type { RequiredWords } from './regex/required.ts'
import { LIST, SHOW_GLOBAL } from './scripts.ts'
import { Tree, type FileEntry, type FolderRules, type Selection } from './tree.ts'

export interface ListingRequest {
  /** The folder or file, beginning with `.` or `/`. */
  readonly root: string
  readonly rules: boolean
  readonly hidden: boolean
  readonly find: FindFlavour
  /** Names of folders that are never entered. */
  readonly never: readonly string[]
  /** Times are wanted, not sizes, where the machine tells either with the names. */
  readonly times: boolean
  /** What files are looked for meanwhile, where the machine can; undefined: none. */
  readonly early: { readonly words: RequiredWords; readonly names: WantedNames } | undefined
}

export type Listing =
  | { readonly kind: 'file' | 'other' | 'denied' | 'missing' }
  | {
      readonly kind: 'folder'
      readonly files: readonly FileEntry[]
      /** Folders that belong to the search and cannot be read. */
      readonly closed: readonly string[]
      /** What is wrong in ignore files above the folder; those below may hold anything. */
      readonly problems: readonly string[]
      /** To be heard or abandoned; undefined: none was begun, or none that is worth waiting for. */
      readonly early: EarlySearch | undefined
    }

/** Folders with what others made, which hardly a search is for. */
const LIKELY_IGNORED = ['node_modules', 'bower_components', '__pycache__', 'target', 'dist', 'build', '.git']
/** The kernel's own views of things, without end and not all harmless to read. */
const NOT_ON_DISK = ['./proc', './sys', './dev']

const MOST_ENTRIES = 400_000
const LONGEST_LISTING = 96 * 1024 * 1024
/** So many folders are asked for one by one; for more, everything is. */
const MOST_STARTS = 100

/** @throws SearchRefusal beyond the limits. */
export async function listTree(
  asking: Asking,
  request: ListingRequest,
  select: (root: string) => Omit<Selection, 'rules' | 'root' | 'hidden'>,
): Promise<Listing> {
  const collected = new Collected(asking, request)
  try {
    return await listAll(collected, request, select)
  } catch (failure) {
    await collected.early?.abandon()
    throw failure
  }
}

async function listAll(
  collected: Collected,
  request: ListingRequest,
  select: (root: string) => Omit<Selection, 'rules' | 'root' | 'hidden'>,
): Promise<Listing> {
  const guessed = request.rules ? LIKELY_IGNORED : []
  let starts: readonly string[] = ['']
  for (;;) {
    const answer = await collected.ask(starts, guessed)
    if (answer !== 'folder') return { kind: answer }
    const selection: Selection = {
      ...select(collected.root),
      hidden: request.hidden,
      root: collected.root,
      rules: request.rules ? { folders: collected.rules, global: collected.global } : undefined,
    }
    const { files, folders, missing } = collected.tree.select(selection, collected.unlisted)
    if (missing.length === 0) {
      await collected.keepEarlyFor(files)
      const closed = folders.filter((folder) => collected.closed.has(folder))
      return { kind: 'folder', files, closed, problems: collected.problems, early: collected.early }
    }
    if (missing.length > MOST_STARTS) {
      collected.forget()
      starts = ['']
    } else starts = missing
  }
}

/** A pattern of find's. */
const ANY_HIDDEN = '.?*'

type Answer = 'file' | 'other' | 'denied' | 'missing' | 'folder'

/** What an answer says beside the tree and its rules. */
interface Heard {
  answer: Answer
  /** More is to come. */
  searching: boolean
  home: string
  readonly configs: Buffer[]
  usual: Buffer | undefined
}

class Collected {
  readonly #asking: Asking
  readonly #request: ListingRequest
  tree = new Tree()
  readonly rules = new Map<string, FolderRules>()
  global = new IgnoreRules([])
  readonly closed = new Set<string>()
  readonly problems: string[] = []
  /** Physical. */
  root = '/'
  early: EarlySearch | undefined
  #guesses: readonly string[] = []
  #hiddenSkipped = false
  #asked = false

  constructor(asking: Asking, request: ListingRequest) {
    this.#asking = asking
    this.#request = request
  }

  /** Begin again, without guessing. */
  forget(): void {
    this.tree = new Tree()
    this.#guesses = []
    this.#hiddenSkipped = false
  }

  unlisted = (path: string): boolean => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    return this.#guesses.includes(name) || (this.#hiddenSkipped && name.startsWith('.'))
  }

  /** End the early search when it reads much more than these. */
  async keepEarlyFor(files: readonly FileEntry[]): Promise<void> {
    const names = this.#request.early?.names
    if (this.early === undefined || names === undefined) return
    if (isWorthWaiting(this.tree.files(), names, files)) return
    await this.early.abandon()
    this.early = undefined
  }

  async ask(starts: readonly string[], guesses: readonly string[]): Promise<Answer> {
    const { root, rules, hidden, find, never, times } = this.#request
    const first = !this.#asked
    this.#asked = true
    if (first) {
      this.#guesses = guesses
      this.#hiddenSkipped = !hidden
    }
    const names = first ? [...guesses, ...never, ...(hidden ? [] : [ANY_HIDDEN])] : [...never]
    const prune = [
      ...names.flatMap((name) => ['-o', '-name', name]),
      ...(root === '/' || this.root === '/' ? NOT_ON_DISK.flatMap((path) => ['-o', '-path', path]) : []),
    ].slice(1)
    const args = [
      root,
      rules ? (first ? 'all' : 'below') : 'plain',
      find === 'gnu' ? (times ? '%T@' : '%s') : '',
      quoteAll(starts.map((start) => (start === '' ? '.' : `./${unlatin(start)}`))),
      quoteAll(prune.length === 0 ? ['-name', ''] : prune),
      ...(first ? this.#earlyWords(names) : ['', '', '']),
    ]
    for (const start of starts) this.tree.explored(start)
    const frames = this.#asking.frames({ script: LIST, args, longestFrame: LONGEST_LISTING })
    let heard: Heard | undefined
    try {
      heard = await this.#hear(frames, first)
    } finally {
      if (heard?.searching !== true) await frames.return(undefined)
    }
    if (heard.searching) this.early = new EarlySearch(frames)
    if (first && rules && heard.answer === 'folder') await this.#globalRules(heard)
    return heard.answer
  }

  /** Up to the end, or to where only the early search is still to come. */
  async #hear(frames: AsyncGenerator<Frame>, first: boolean): Promise<Heard> {
    const heard: Heard = { answer: 'missing', searching: false, home: '', configs: [], usual: undefined }
    for (;;) {
      const { value: frame, done } = await frames.next()
      if (done === true) return heard
      switch (frame.kind) {
        case 'file':
        case 'other':
        case 'denied':
        case 'missing':
          heard.answer = frame.kind
          break
        case 'folder':
          heard.answer = 'folder'
          this.root = frame.name
          break
        case 'home':
          heard.home = frame.name
          break
        case 'config':
          heard.configs.push(Buffer.from(frame.content))
          break
        case 'global':
          heard.usual = Buffer.from(frame.content)
          break
        case 'searching':
          heard.searching = true
          return heard
        default:
          this.#take(frame, first)
      }
    }
  }

  #earlyWords(closed: readonly string[]): string[] {
    const { early } = this.#request
    if (early === undefined) return ['', '', '']
    // A class, since old greps compare whole paths, which begin with a dot.
    const options = early.names.options(closed.map((name) => (name === ANY_HIDDEN ? '.[!/]*' : name)))
    return [expressionOf(early.words), early.words.ignoreCase ? 'i' : '', options]
  }

  #take(frame: Frame, first: boolean): void {
    switch (frame.kind) {
      case 'too-long':
        throw beyondLimit('there are more files than can be listed')
      case 'listed':
        this.#takeListed(frame, first)
        break
      case 'folders':
        for (const entry of entriesOf(frame.content)) this.tree.addFolder(entry.slice(2))
        break
      case 'files':
        for (const entry of entriesOf(frame.content)) this.tree.addFile(entry.slice(2))
        break
      case 'closed':
        for (const entry of entriesOf(frame.content)) this.closed.add(entry.slice(2))
        break
      case 'git':
        this.#rulesOf(frame.name.slice(0, -1)).isRepository = true
        break
      case 'exclude':
        this.#rulesOf(frame.name.slice(0, -1)).exclude = this.#read(`${frame.name}.git/info/exclude`, frame)
        break
      case 'rules': {
        const slash = frame.name.lastIndexOf('/')
        const rules = this.#rulesOf(frame.name.slice(0, slash))
        const found = this.#read(frame.name, frame)
        const name = frame.name.slice(slash + 1)
        if (name === '.gitignore') rules.git = found
        else if (name === '.ignore') rules.ignore = found
        else rules.own = found
      }
    }
    if (this.tree.size > MOST_ENTRIES) {
      throw beyondLimit(`there are more than ${MOST_ENTRIES} files and folders`)
    }
  }

  #takeListed({ content }: Frame, first: boolean): void {
    const { times } = this.#request
    for (const entry of entriesOf(content)) {
      const space = entry.indexOf(' ')
      const path = entry.slice(space + 3)
      const told = entry.slice(1, space)
      if (entry.startsWith('d')) this.tree.addFolder(path)
      else if (times) this.tree.addFile(path, { changed: told })
      else this.tree.addFile(path, first ? { size: Number(told) } : {})
    }
  }

  #read(path: string, { content }: Frame): IgnoreRules {
    const { rules, problems } = readIgnoreFile(content)
    if (path.startsWith('/')) this.problems.push(...problems.map((problem) => `${unlatin(path)}: ${problem}`))
    return rules
  }

  /** @param folder - as the script names it: `.`, `./…` or absolute, `''` being the root of all. */
  #rulesOf(folder: string): FolderRules {
    const key = folder === '' ? '/' : folder === '.' ? '' : folder.replace(/^\.\//, '')
    const known = this.rules.get(key)
    if (known !== undefined) return known
    const made: FolderRules = {}
    this.rules.set(key, made)
    return made
  }

  async #globalRules({ home, configs, usual }: Heard): Promise<void> {
    const named = configs.map((config) => excludesFileOf(config, home)).find((path) => path !== undefined)
    let content = named === undefined ? usual : undefined
    if (named !== undefined) {
      const question = { script: SHOW_GLOBAL, args: [unlatin(named)], longestFrame: LONGEST_LISTING }
      for await (const frame of this.#asking.frames(question)) {
        if (frame.kind === 'global') content = Buffer.from(frame.content)
      }
    }
    if (content !== undefined) this.global = readIgnoreFile(content).rules
  }
}

function entriesOf(content: Buffer): string[] {
  return content
    .toString('latin1')
    .split('\0')
    .filter((entry) => entry !== '' && entry !== '.' && !/^d\S* \.$/.test(entry))
}

/** A name as text for a command line. */
function unlatin(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
