/**
 * What the host looks for around a session's folder before every step of the model: a repository, the texts
 * with instructions, folders of skills, one after the other and again and again. All of it is found out at once
 * and kept for some seconds. Only the host's own looks are answered from here, never a tool or a guard.
 */
import { PresenceError } from '../../../base/failure.ts'
import { callerLeaves, race } from '../../../base/race.ts'
import { containsPath, nameOf, parentOf, type RemotePath } from '../../../base/remote-path.ts'
import { AROUND } from '../../shell/file-functions.ts'
import type { MachineSession } from '../../session.ts'
import type { FileStat } from '../stat.ts'
import { lookAround, type Found } from './around-folders.ts'
import type { Contents } from './contents.ts'

/** So old may an answer be: a change by somebody else is seen that late. */
const FRESH_MS = 5000
/**
 * While a tool works, an answer of that age is renewed: the host will look when the tool is done. A younger one
 * says what may be opened.
 */
const RENEWED_MS = 1000
/** Folders that are looked around at once; those that were asked for last. */
const MOST_FOLDERS = 32

export class Surroundings {
  readonly #contents: Contents
  readonly #folders = new Set<RemotePath>()
  #found: ReadonlyMap<RemotePath, Found> = new Map()
  #byCanonical = new Map<RemotePath, Found>()
  /** When the answers were asked for. */
  #askedAt = Number.NEGATIVE_INFINITY
  /** Counts what may have changed something. */
  #changes = 0
  #running: { readonly changes: number; readonly done: Promise<void> } | undefined

  constructor(contents: Contents) {
    this.#contents = contents
  }

  /**
   * Where a path leads and what is there, when it is one that the host looks for.
   * @returns undefined for every other path, and for what is out of the ordinary.
   */
  async look(session: MachineSession, path: RemotePath, signal?: AbortSignal): Promise<Found | undefined> {
    const asked = askedOf(path)
    if (asked === undefined) return undefined
    this.include(parentOf(asked))
    if (!this.#isFresh(FRESH_MS) || !this.#found.has(asked)) await this.#renew(session, signal)
    const found = this.#found.get(asked)
    if (found === undefined || asked === path) return found
    // Below something that is not there is nothing either, and its name is as it is spelled.
    if (found.stat !== undefined) return undefined
    return { canonical: `${found.canonical}${path.slice(asked.length)}` as RemotePath, stat: undefined }
  }

  /** What was found at a canonical path just now; undefined when nothing is known of it. */
  at(canonical: RemotePath): Found | undefined {
    return this.#isFresh(FRESH_MS) ? this.#byCanonical.get(canonical) : undefined
  }

  /** The same for who is about to open it, which must not wait for a FIFO that has come since. */
  gate(canonical: RemotePath): FileStat | undefined {
    return this.#isFresh(RENEWED_MS) ? this.#byCanonical.get(canonical)?.stat : undefined
  }

  /** A tool works in this folder: the host will look around it too. */
  include(folder: RemotePath): void {
    for (let at = folder; ; at = parentOf(at)) {
      this.#folders.delete(at)
      this.#folders.add(at)
      if (at === '/') break
    }
    for (const oldest of this.#folders) {
      if (this.#folders.size <= MOST_FOLDERS) break
      this.#folders.delete(oldest)
    }
  }

  /** Find out again what will be asked for soon; nobody waits for it yet. */
  freshen(session: MachineSession): void {
    if (this.#folders.size === 0 || this.#askedAt === Number.NEGATIVE_INFINITY) return
    if (this.#isFresh(RENEWED_MS)) return
    this.#renew(session, undefined).catch((error: unknown) => {
      // Whoever asks hears it then.
      if (!(error instanceof PresenceError)) throw error
    })
  }

  /** A file was changed by us, and nothing else was. */
  changed(path: RemotePath): void {
    const touches = (one: RemotePath): boolean => containsPath(path, one) || containsPath(one, path)
    const touched = [...this.#found].some(([asked, { canonical, stat }]) => {
      // Folders above a file only count as changed where they were not there.
      const above = stat !== undefined && canonical !== path && containsPath(canonical, path)
      return !above && (touches(asked) || touches(canonical))
    })
    if (touched) this.expire()
  }

  /** Anything may have changed. */
  expire(): void {
    this.#changes += 1
    this.#found = new Map()
    this.#byCanonical = new Map()
    if (this.#askedAt > 0) this.#askedAt = 0
  }

  /** Nothing of it counts any more. */
  forget(): void {
    this.expire()
    this.#folders.clear()
    this.#askedAt = Number.NEGATIVE_INFINITY
  }

  #isFresh(ms: number): boolean {
    return performance.now() - this.#askedAt <= ms && this.#found.size > 0
  }

  async #renew(session: MachineSession, signal: AbortSignal | undefined): Promise<void> {
    const folders = [...this.#folders]
    // An answer that was asked for before a change says nothing of what is after it.
    if (this.#running?.changes !== this.#changes) {
      const changes = this.#changes
      const done = this.#ask(session, folders, changes).finally(() => {
        if (this.#running?.done === done) this.#running = undefined
      })
      this.#running = { changes, done }
    }
    const { done } = this.#running ?? { done: Promise.resolve() }
    await race(() => done, callerLeaves(signal, 'looking around'))
  }

  async #ask(session: MachineSession, folders: readonly RemotePath[], changes: number): Promise<void> {
    const askedAt = performance.now()
    const unread = [...this.#byCanonical.values()].some(
      ({ canonical, stat }) =>
        stat?.type === 'file' && this.#contents.get(canonical, stat.version) === undefined,
    )
    const { found, contents } = await lookAround(session, folders, unread || this.#byCanonical.size === 0)
    for (const [path, { stat, content }] of contents) this.#contents.keep(path, stat, content)
    if (changes !== this.#changes) return
    this.#askedAt = askedAt
    this.#found = found
    this.#byCanonical = new Map([...found.values()].map((one) => [one.canonical, one]))
  }
}

const NAMES: ReadonlySet<string> = new Set(AROUND)

/** The path that would have to be looked at: itself, or the one above it that the host looks in. */
function askedOf(path: RemotePath): RemotePath | undefined {
  for (let at = path; at !== '/'; at = parentOf(at)) if (NAMES.has(nameOf(at))) return at
  return undefined
}
