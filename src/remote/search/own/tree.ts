/**
 * What was found below the folder of a search, and which of its files ripgrep would look at. Pure; paths
 * are strings of bytes (latin1), relative to that folder, in ripgrep's order: by name, byte for byte.
 */
import { IgnoreRules, type Verdict } from './ignore-rules.ts'

export interface FileEntry {
  readonly path: string
  /** When it was changed: seconds, then nanoseconds; undefined: not asked. */
  readonly changed: string | undefined
  /** In bytes, when it was first listed; undefined: not asked. */
  readonly size: number | undefined
}

/** What the machine said of a file, of which not everything is asked. */
export type FileFacts = Partial<Pick<FileEntry, 'changed' | 'size'>>

export interface FoundFile {
  /** Its own, without folders. */
  readonly name: string
  readonly facts: FileFacts
}

interface Folder {
  readonly folders: string[]
  readonly files: FoundFile[]
}

/** The rules of one folder, each kind on its own. */
export interface FolderRules {
  /** `.rgignore` */
  own?: IgnoreRules
  /** `.ignore` */
  ignore?: IgnoreRules
  /** `.gitignore` */
  git?: IgnoreRules
  /** `.git/info/exclude` */
  exclude?: IgnoreRules
  isRepository?: boolean
}

export interface Rules {
  /** By path of the folder: relative to the search's, `''` for itself; absolute for those above it. */
  readonly folders: ReadonlyMap<string, FolderRules>
  /** Git's for all repositories of the account. */
  readonly global: IgnoreRules
}

export interface Selection {
  /** The `--glob` options; a glob without `!` is an `ignore` here, and means the opposite. */
  readonly overrides: IgnoreRules
  readonly hidden: boolean
  readonly rules: Rules | undefined
  /** The search's own folder, physical. */
  readonly root: string
  /** The path as which ripgrep knows one below the search's folder, without its leading `./`. */
  readonly known: (path: string) => string
  /** The working folder, physical. */
  readonly working: string
}

export class Tree {
  readonly #folders = new Map<string, Folder>([['', { folders: [], files: [] }]])
  /** Folders that were asked for one by one: all that is below them is known. */
  readonly #explored = new Set<string>()
  #size = 0

  /** Entries of any kind. */
  get size(): number {
    return this.#size
  }

  addFolder(path: string): void {
    if (path === '' || this.#folders.has(path)) return
    this.#folders.set(path, { folders: [], files: [] })
    this.#parent(path).folders.push(nameOf(path))
    this.#size += 1
  }

  addFile(path: string, facts: FileFacts = {}): void {
    this.#parent(path).files.push({ name: nameOf(path), facts })
    this.#size += 1
  }

  /** Whether they are searched or not. */
  *files(): Generator<FoundFile> {
    for (const { files } of this.#folders.values()) yield* files
  }

  explored(path: string): void {
    this.#explored.add(path)
  }

  /**
   * Walk as ripgrep does.
   * @param unlisted - whether the content of a folder of this name was not asked for.
   * @returns the files to look at, and the folders whose content is still needed for that.
   */
  select(
    selection: Selection,
    unlisted: (path: string) => boolean,
  ): {
    readonly files: readonly FileEntry[]
    readonly folders: readonly string[]
    readonly missing: readonly string[]
  } {
    const files: FileEntry[] = []
    const folders: string[] = []
    const missing: string[] = []
    const decide = decider(selection)
    const walk = (path: string, levels: Levels, known: boolean): void => {
      const folder = this.#folders.get(path)
      if (folder === undefined) return
      folders.push(path)
      const entries = [...folder.files, ...folder.folders.map((name) => ({ name, facts: undefined }))].sort(
        (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
      )
      for (const { name, facts } of entries) {
        const child = path === '' ? name : `${path}/${name}`
        const isFolder = facts === undefined
        if (decide(child, name, isFolder, levels)) continue
        if (!isFolder) files.push({ path: child, changed: facts.changed, size: facts.size })
        else {
          const all = known || this.#explored.has(child)
          if (!all && unlisted(child)) missing.push(child)
          else walk(child, withLevel(levelOf(child, selection), levels), all)
        }
      }
    }
    walk('', withLevel(levelOf('', selection), levelsAbove(selection)), false)
    return { files, folders, missing }
  }

  #parent(path: string): Folder {
    const slash = path.lastIndexOf('/')
    const parent = slash < 0 ? '' : path.slice(0, slash)
    // Find names a folder before what is in it; where it does not, the folder is known from here on.
    this.addFolder(parent)
    const folder = this.#folders.get(parent)
    if (folder === undefined) throw new Error(`no folder ${parent}`)
    return folder
  }
}

interface Level {
  readonly rules: FolderRules
  /** Path of an entry relative to this level's folder. */
  readonly relative: (path: string) => string
}

/** Those that have anything to say, nearest first. */
interface Levels {
  readonly list: readonly Level[]
  readonly anyRepository: boolean
}

function withLevel(level: Level | undefined, above: Levels): Levels {
  if (level === undefined) return above
  const anyRepository = above.anyRepository || level.rules.isRepository === true
  return { list: [level, ...above.list], anyRepository }
}

function levelOf(path: string, { rules }: Selection): Level | undefined {
  const cut = path === '' ? 0 : path.length + 1
  const own = rules?.folders.get(path)
  return own === undefined ? undefined : { rules: own, relative: (entry) => entry.slice(cut) }
}

/** The folders above the search's own. */
function levelsAbove({ rules, root }: Selection): Levels {
  const found: Level[] = []
  let folder = root
  while (rules !== undefined && folder !== '/') {
    folder = folder.slice(0, folder.lastIndexOf('/')) || '/'
    const cut = folder === '/' ? 1 : folder.length + 1
    const own = rules.folders.get(folder)
    if (own !== undefined) {
      found.push({ rules: own, relative: (entry) => `${root}/${entry}`.slice(cut) })
    }
  }
  const none: Levels = { list: [], anyRepository: false }
  return found.reduceRight((levels, level) => withLevel(level, levels), none)
}

/** Whether ripgrep passes an entry by. */
function decider(
  selection: Selection,
): (path: string, name: string, isFolder: boolean, levels: Levels) => boolean {
  const { overrides, hidden, rules, known, working } = selection
  const wanted = overrides.ignores > 0
  return (path, name, isFolder, levels) => {
    if (overrides.size > 0) {
      const verdict = overrides.verdict(below(working, known(path)), isFolder)
      if (verdict !== undefined) return verdict === 'whitelist'
      if (wanted && !isFolder) return true
    }
    const verdict = rules === undefined ? undefined : byRules(rules, path, isFolder, levels, selection)
    if (verdict !== undefined) return verdict === 'ignore'
    return !hidden && name.startsWith('.')
  }
}

function byRules(
  { global }: Rules,
  path: string,
  isFolder: boolean,
  { list, anyRepository }: Levels,
  { known, working }: Selection,
): Verdict {
  let own: Verdict
  let ignore: Verdict
  let git: Verdict
  let exclude: Verdict
  let left = false
  for (const level of list) {
    const relative = level.relative(path)
    own ??= level.rules.own?.verdict(relative, isFolder)
    ignore ??= level.rules.ignore?.verdict(relative, isFolder)
    if (anyRepository && !left) {
      git ??= level.rules.git?.verdict(relative, isFolder)
      exclude ??= level.rules.exclude?.verdict(relative, isFolder)
    }
    // Above its own folder nothing belongs to a repository.
    left ||= level.rules.isRepository === true
  }
  const decided = own ?? ignore ?? git ?? exclude
  if (decided !== undefined || !anyRepository || global.size === 0) return decided
  return global.verdict(below(working, known(path)), isFolder)
}

/** Cut a folder off a path, as ripgrep does: by spelling alone. */
function below(folder: string, path: string): string {
  if (!path.includes('/') || !path.startsWith(folder)) return path
  const rest = path.slice(folder.length)
  return rest.startsWith('/') ? rest.slice(1) : rest
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
