/**
 * The paths below one remote workspace, for `@` references: one listing of the whole tree that queries
 * share until something may have changed it, and live listings for queries that name a folder.
 */
import { childOf, type RemotePath } from '../../base/remote-path.ts'
import { SharedAttempt } from '../../base/shared-attempt.ts'
import type { RemoteFiles } from '../files/remote-files.ts'
import { FileError } from '../files/errors.ts'
import type { Machine } from '../machine.ts'
import { RemoteProcess } from '../process/remote-process.ts'
import { compareText, isOffered, rank, type Candidate } from './rank.ts'

export interface ReferenceLimits {
  readonly maxResults: number
  readonly maxEntries: number
  /** Folder names that are neither entered nor offered. */
  readonly excluded: ReadonlySet<string>
}

/** A tree whose listing is longer than this is cut off; nobody picks from a million names. */
const LONGEST_LISTING = 32 * 1024 * 1024
const FOLDERS_AT_ONCE = 16

export class ReferenceIndex {
  readonly #machine: Machine
  readonly #files: RemoteFiles
  readonly #root: RemotePath
  readonly #limits: ReferenceLimits
  #listing: SharedAttempt<readonly Candidate[]>
  #candidates: readonly Candidate[] | undefined

  constructor(machine: Machine, files: RemoteFiles, root: RemotePath, limits: ReferenceLimits) {
    this.#machine = machine
    this.#files = files
    this.#root = root
    this.#limits = limits
    this.#listing = this.#newListing()
  }

  /** Something may have changed: the next query lists anew. */
  invalidate(): void {
    this.#candidates = undefined
    this.#listing = this.#newListing()
  }

  async query(text: string, signal: AbortSignal): Promise<Candidate[]> {
    const query = text.replaceAll('\\', '/')
    const slash = query.lastIndexOf('/')
    if (query === '' || slash >= 0)
      return this.#folder(query.slice(0, slash + 1), query.slice(slash + 1), signal)
    const candidates = this.#candidates ?? (await this.#listing.join(signal))
    return rank(
      candidates.filter((candidate) => isOffered(candidate.path, query)),
      query,
      this.#limits.maxResults,
    )
  }

  #newListing(): SharedAttempt<readonly Candidate[]> {
    const listing: SharedAttempt<readonly Candidate[]> = new SharedAttempt(
      'listing files',
      async (signal) => {
        const candidates = await this.#wholeTree(signal)
        if (this.#listing === listing) this.#candidates = candidates
        return candidates
      },
    )
    return listing
  }

  /** The children of one folder below the root. A path that leaves it, or a link, offers nothing. */
  async #folder(folder: string, fragment: string, signal: AbortSignal): Promise<Candidate[]> {
    const segments = folder.split('/').filter((segment) => segment !== '' && segment !== '.')
    if (segments.some((segment) => segment === '..' || this.#limits.excluded.has(segment))) return []
    let path = this.#root
    for (const segment of segments) {
      path = childOf(path, segment)
      const stat = await this.#files.stat({ path, shown: path }, { signal, follow: false })
      if (stat?.type !== 'directory') return []
    }
    const candidates = (await this.#children(path, folder, signal)).filter(
      (candidate) => fragment.startsWith('.') || !candidate.path.slice(folder.length).startsWith('.'),
    )
    return rank(candidates, fragment, this.#limits.maxResults)
  }

  async #children(path: RemotePath, prefix: string, signal: AbortSignal): Promise<Candidate[]> {
    const entries = await this.#files.list({ path, shown: path }, { signal }).catch((error: unknown) => {
      if (error instanceof FileError) return []
      throw error
    })
    return entries.flatMap((entry): Candidate[] => {
      if (entry.isLink) return []
      if (entry.type === 'directory') {
        return this.#limits.excluded.has(entry.name)
          ? []
          : [{ path: `${prefix}${entry.name}`, kind: 'directory' }]
      }
      return entry.type === 'file' ? [{ path: `${prefix}${entry.name}`, kind: 'file' }] : []
    })
  }

  async #wholeTree(signal: AbortSignal): Promise<readonly Candidate[]> {
    const session = await this.#machine.session(signal)
    const found =
      session.shell?.programs.find === undefined ? await this.#walk(signal) : await this.#find(signal)
    return found.toSorted(byDepth).slice(0, this.#limits.maxEntries)
  }

  /** One `find` on the machine: folders, an empty name, then files. */
  async #find(signal: AbortSignal): Promise<Candidate[]> {
    const prune = [...this.#limits.excluded].flatMap((name) => ['-type', 'd', '-name', name, '-prune', '-o'])
    const script = 'k=$1; shift; find . "$@" -type "$k" -print0'
    const both = `s='${script}'; sh -c "$s" s d "$@"; printf '\\0'; sh -c "$s" s f "$@"`
    const process = new RemoteProcess(
      this.#machine,
      {
        argv: ['sh', '-c', both, 'presence', ...prune],
        folder: this.#root,
        env: {},
        input: 'none',
        graceMs: 1000,
      },
      (_session, request) => request,
    )
    const abort = (): void => process.terminate()
    signal.addEventListener('abort', abort, { once: true })
    const chunks: Buffer[] = []
    let bytes = 0
    process.stderr.resume()
    process.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= LONGEST_LISTING) chunks.push(chunk)
      else process.terminate()
    })
    try {
      await process.done
    } finally {
      signal.removeEventListener('abort', abort)
    }
    signal.throwIfAborted()
    return parseListing(Buffer.concat(chunks).toString('utf8'))
  }

  /** Folder by folder over SFTP, for accounts that run no commands. */
  async #walk(signal: AbortSignal): Promise<Candidate[]> {
    const found: Candidate[] = []
    let level: { readonly path: RemotePath; readonly prefix: string }[] = [{ path: this.#root, prefix: '' }]
    while (level.length > 0 && found.length < this.#limits.maxEntries) {
      const next: typeof level = []
      for (let at = 0; at < level.length && found.length < this.#limits.maxEntries; at += FOLDERS_AT_ONCE) {
        const folders = level.slice(at, at + FOLDERS_AT_ONCE)
        const children = await Promise.all(
          folders.map(({ path, prefix }) => this.#children(path, prefix, signal)),
        )
        for (const candidate of children.flat()) {
          found.push(candidate)
          if (candidate.kind === 'directory') {
            next.push({ path: childOf(this.#root, candidate.path), prefix: `${candidate.path}/` })
          }
        }
      }
      level = next
    }
    return found
  }
}

/** The order of a walk that takes folders level by level and names in order. */
function byDepth(a: Candidate, b: Candidate): number {
  const left = a.path.split('/')
  const right = b.path.split('/')
  if (left.length !== right.length) return left.length - right.length
  for (const [index, segment] of left.entries()) {
    const order = compareText(segment, right[index] ?? '')
    if (order !== 0) return order
  }
  return 0
}

export function parseListing(output: string): Candidate[] {
  const names = output.split('\0')
  const border = names.indexOf('')
  return names.flatMap((name, index): Candidate[] => {
    const path = name.startsWith('./') ? name.slice(2) : ''
    if (path === '') return []
    return [{ path, kind: index < border ? 'directory' : 'file' }]
  })
}
