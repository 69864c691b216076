/**
 * The mounts folder: `<mounts>/<machine>/<remote absolute path>` stands for a remote path wherever the
 * host handles paths. This file owns the spelling in both directions and the question which world a
 * local-looking path belongs to. It never touches a disk.
 */
import { posix, win32 } from 'node:path'
import { shownName } from '../base/name-bytes.ts'
import { REMOTE_ROOT, childOf, segmentsOf, type RemotePath } from '../base/remote-path.ts'
import { escapeSegment, unescapeSegment } from './segment-name.ts'
import { StrayPathError } from './errors.ts'
import type { Place } from './place.ts'

export interface MountsOptions {
  /** `$DSH_HOME/presence/mounts`, absolute. */
  readonly root: string
  /** The same folder with symbolic links resolved, as the host's own `realpath` prints it. */
  readonly realRoot: string
  readonly platform: NodeJS.Platform
  readonly isMachine: (name: string) => boolean
}

/** Which world a path belongs to, by its spelling. */
export type Location =
  | { readonly world: 'local' }
  | { readonly world: 'remote'; readonly place: Place }
  /** Below the mounts, but of no known machine: it is refused, never served locally. */
  | { readonly world: 'unknown-machine'; readonly machine: string; readonly below: boolean }

/** What the host looks for in every folder above a session's, and which can be no machine's name. */
const PROBED = new Set([
  '.git',
  '.dsh',
  '.agents',
  'AGENTS.md',
  'AGENTS.local.md',
  'CLAUDE.md',
  'CLAUDE.local.md',
])

export class Mounts {
  readonly #options: MountsOptions
  readonly #path: typeof posix | typeof win32
  readonly #roots: readonly string[]

  constructor(options: MountsOptions) {
    this.#options = options
    this.#path = options.platform === 'win32' ? win32 : posix
    this.#roots = [...new Set([options.realRoot, options.root])]
  }

  /** The spelling that the host's realpath agrees with; every mount path we make begins with it. */
  get root(): string {
    return this.#options.realRoot
  }

  /** The place that an absolute path stands for, or null when it is not under a known machine's mount. */
  parse(path: string): Place | null {
    const location = this.locate(path)
    return location.world === 'remote' ? location.place : null
  }

  locate(path: string): Location {
    const below = this.#below(path)
    if (below === undefined || below.length === 0) return { world: 'local' }
    const [first = '', ...rest] = below
    const machine = unescapeSegment(first, this.#options.platform)
    if (!this.#options.isMachine(machine))
      return { world: 'unknown-machine', machine, below: rest.length > 0 }
    const remote = rest
      .map((segment) => unescapeSegment(segment, this.#options.platform))
      .reduce<RemotePath>(childOf, REMOTE_ROOT)
    return { world: 'remote', place: { machine, path: remote } }
  }

  /**
   * The place of a path under the mounts, or undefined for a path elsewhere.
   * @throws StrayPathError for a machine that is not known (any more).
   */
  placeOf(path: string): Place | undefined {
    const location = this.locate(path)
    switch (location.world) {
      case 'local':
        return undefined
      case 'remote':
        return location.place
      case 'unknown-machine':
        // `<mounts>/.git` and the like are names of the host's probes, not machines: simply absent locally.
        if (!location.below && PROBED.has(location.machine)) return undefined
        throw new StrayPathError(path, location.machine)
    }
  }

  /** The mount spelling of a place. What is not UTF-8 there is in it as it is in listings. */
  format(place: Place): string {
    const names = [place.machine, ...segmentsOf(place.path).map(shownName)]
    return this.#path.join(
      this.root,
      ...names.map((name) => escapeSegment(name, { platform: this.#options.platform })),
    )
  }

  /** The spelling of what lies in a folder that is spelled like this, by its shown name. */
  below(folder: string, name: string): string {
    return this.#path.join(folder, escapeSegment(name, { platform: this.#options.platform }))
  }

  /** True for a local folder that has the mounts folder below it. */
  isAbove(folder: string): boolean {
    const above = this.#fold(this.#path.resolve(folder))
    return this.#roots.some((root) => {
      const rest = this.#path.relative(above, this.#fold(root))
      return (
        rest !== '' &&
        rest !== '..' &&
        !rest.startsWith(`..${this.#path.sep}`) &&
        !this.#path.isAbsolute(rest)
      )
    })
  }

  isAbsolute(path: string): boolean {
    return this.#path.isAbsolute(path)
  }

  /**
   * Every occurrence of this machine's mount spellings in a text, replaced by the remote path, and the
   * other machines whose spellings occur in it.
   */
  translateText(
    text: string,
    machine: string,
  ): { readonly text: string; readonly strangers: readonly string[] } {
    const strangers = new Set<string>()
    let translated = text
    for (const root of this.#roots) {
      const pattern = new RegExp(`${escapeRegExp(root)}[/\\\\]([^/\\\\\\s'"\`;|&<>(){}$]+)`, 'g')
      translated = translated.replace(pattern, (whole, name: string, offset: number, all: string) => {
        const mentioned = unescapeSegment(name, this.#options.platform)
        if (mentioned !== machine) {
          if (this.#options.isMachine(mentioned)) strangers.add(mentioned)
          return whole
        }
        // `<mounts>/<machine>` alone is the machine's root; followed by a path it simply falls away.
        return all[offset + whole.length] === '/' ? '' : '/'
      })
    }
    return { text: translated, strangers: [...strangers] }
  }

  /** Segments below the mounts folder, or undefined when the path is elsewhere. */
  #below(path: string): string[] | undefined {
    if (!this.#path.isAbsolute(path)) return undefined
    const normal = this.#path.resolve(path)
    for (const root of this.#roots) {
      const known = this.#path.resolve(root)
      const head = normal.slice(0, known.length)
      if (this.#fold(head) !== this.#fold(known)) continue
      const tail = normal.slice(known.length)
      if (tail === '') return []
      if (tail.startsWith(this.#path.sep))
        return tail.split(this.#path.sep).filter((segment) => segment !== '')
    }
    return undefined
  }

  /** Spelling for comparison: Windows paths are one path in any case. */
  #fold(path: string): string {
    return this.#options.platform === 'win32' ? path.toLowerCase() : path
  }
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
