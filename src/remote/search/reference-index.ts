/**
 * The paths below one remote workspace, for `@` references: one listing of the whole tree that queries
 * share, and live listings for queries that name a folder. What may have changed the tree makes the listing
 * old; an old one still answers when a new one takes longer than a person who types wants to wait.
 */
import { callerLeaves, pause, race } from '../../base/race.ts'
import {
  InvalidRemotePathError,
  containsPath,
  joinRemote,
  segmentsOf,
  type RemotePath,
} from '../../base/remote-path.ts'
import type { RemoteFiles } from '../files/remote-files.ts'
import type { Machine } from '../machine.ts'
import type { MachineSession } from '../session.ts'
import { isOffered, rank, type Candidate } from './rank.ts'
import { childrenOf, listTree, type ListingLimits } from './reference-listing.ts'

export interface ReferenceLimits extends ListingLimits {
  readonly maxResults: number
}

/** How long a query waits for a new listing while there is an old one, in milliseconds. */
const AWAITED_MS = 100
/** So old may a listing be that nothing of ours has made old: what others change is seen that late. */
const FRESH_MS = 30_000

interface Listing {
  /** What another connection has answered is not used: it may have led to another machine. */
  readonly session: MachineSession
  readonly candidates: readonly Candidate[]
  /** When it was asked for, and after how many changes. */
  readonly at: number
  readonly changes: number
}

export class ReferenceIndex {
  readonly #machine: Machine
  readonly #root: RemotePath
  readonly #limits: ReferenceLimits
  readonly #closing = new AbortController()
  readonly #unwatchFiles: () => void
  #listened: { readonly session: MachineSession; readonly stop: () => void } | undefined
  #known: Listing | undefined
  #running: { readonly session: MachineSession; readonly listing: Promise<Listing> } | undefined
  /** Counts what may have changed the tree. */
  #changes = 0

  constructor(machine: Machine, files: RemoteFiles, root: RemotePath, limits: ReferenceLimits) {
    this.#machine = machine
    this.#root = root
    this.#limits = limits
    this.#unwatchFiles = files.changed.on(() => this.invalidate())
  }

  /** Something may have changed: a listing that was asked for before is old. */
  invalidate(): void {
    this.#changes += 1
  }

  /** End what is under way. Queries that come later fail. */
  close(): void {
    this.#closing.abort()
    this.#unwatchFiles()
    this.#listened?.stop()
  }

  /** @throws ConnectError, ChannelError, LinkLostError, CancelledError. */
  async query(text: string, signal: AbortSignal): Promise<Candidate[]> {
    const query = text.replaceAll('\\', '/')
    // While somebody types, an attempt to connect that has just failed is not made for each letter.
    const session = await this.#machine.session(signal, 'when-due')
    const slash = query.lastIndexOf('/')
    if (query === '' || slash >= 0) {
      // Whoever begins like this goes on with a name.
      if (query === '' && !this.#isFresh(session)) void this.#renewed(session)
      return this.#folder(session, query.slice(0, slash + 1), query.slice(slash + 1), signal)
    }
    const candidates = await this.#candidates(session, signal)
    return rank(
      candidates.filter(({ path }) => isOffered(path, query)),
      query,
      this.#limits.maxResults,
    )
  }

  async #candidates(session: MachineSession, signal: AbortSignal): Promise<readonly Candidate[]> {
    const old = this.#known?.session === session ? this.#known : undefined
    if (old !== undefined && this.#isFresh(session)) return old.candidates
    const renewed = this.#renewed(session)
    const wanted = (): Promise<Listing> =>
      old === undefined ? renewed : Promise.race([renewed, pause(AWAITED_MS).then(() => old)])
    return (await race(wanted, callerLeaves(signal, 'listing files'))).candidates
  }

  #isFresh(session: MachineSession): boolean {
    const known = this.#known
    if (known?.session !== session || known.changes !== this.#changes) return false
    return performance.now() - known.at <= FRESH_MS
  }

  /** One listing at a time; it goes on when who asked for it has left, for the next who asks. */
  #renewed(session: MachineSession): Promise<Listing> {
    if (this.#running?.session === session) return this.#running.listing
    this.#listenTo(session)
    const listing = this.#list(session).finally(() => {
      if (this.#running?.listing === listing) this.#running = undefined
    })
    listing.catch((_heardByWhoWaits: unknown) => undefined)
    this.#running = { session, listing }
    return listing
  }

  async #list(session: MachineSession): Promise<Listing> {
    const [at, changes] = [performance.now(), this.#changes]
    const candidates = await listTree(session, this.#root, this.#limits, this.#closing.signal)
    this.#known = { session, candidates, at, changes }
    return this.#known
  }

  /** Commands and terminals there may change anything, as long as they run. */
  #listenTo(session: MachineSession): void {
    if (this.#listened?.session === session) return
    this.#listened?.stop()
    const stop = session.commands.on((what) => {
      if (what !== 'reads') this.invalidate()
    })
    this.#listened = { session, stop }
  }

  /** The children of one folder below the root. A path that leaves it, or a link, offers nothing. */
  async #folder(
    session: MachineSession,
    folder: string,
    fragment: string,
    signal: AbortSignal,
  ): Promise<Candidate[]> {
    const { excluded, maxResults } = this.#limits
    if (folder.split('/').some((segment) => excluded.has(segment))) return []
    const path = this.#below(folder)
    if (path === undefined) return []
    const segments = segmentsOf(path).slice(segmentsOf(this.#root).length)
    const children = await childrenOf(session, this.#root, segments, folder, excluded, signal)
    const offered = children.filter(
      (candidate) => fragment.startsWith('.') || !candidate.path.startsWith('.', folder.length),
    )
    return rank(offered, fragment, maxResults)
  }

  #below(folder: string): RemotePath | undefined {
    try {
      const path = joinRemote(this.#root, folder)
      return containsPath(this.#root, path) ? path : undefined
    } catch (error) {
      if (error instanceof InvalidRemotePathError) return undefined
      throw error
    }
  }
}
