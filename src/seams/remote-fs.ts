/**
 * A machine's files in the shapes and terms of the host's file system. It knows only remote places: which
 * world a path belongs to is decided before.
 */
import {
  FsTargetKey,
  FsVersion,
  type FsDirEntry,
  type FsEditOutcome,
  type FsEditRequest,
  type FsInfo,
  type FsPathInfo,
  type FsTarget,
  type FsWriteIntent,
  type FsWriteOutcome,
} from '@deepseek-ai/dsh-fs'
import { PresenceError } from '../base/failure.ts'
import { currentSession } from '../core/current-session.ts'
import type { Presence } from '../core/presence.ts'
import { fenceOf, type SessionPolicy } from '../core/sandbox-policy.ts'
import { inHostTerms, toFsError } from '../host/errors.ts'
import { placeKey, type Place } from '../places/place.ts'
import type { Shown } from '../remote/files/read.ts'
import type { WriteGuard } from '../remote/files/saving/change.ts'
import type { CallOptions, RemoteFiles } from '../remote/files/remote-files.ts'

/** What is known of a session's folder while its machine cannot be asked. */
const UNREACHABLE_FOLDER = { type: 'directory', version: FsVersion('unreachable') } as const

export class RemoteFileSystem {
  readonly #presence: Presence
  readonly #diffLimit: number

  /** @param diffLimit - a text of so many bytes or more is not given back for a comparison. */
  constructor(presence: Presence, diffLimit: number) {
    this.#presence = presence
    this.#diffLimit = diffLimit
  }

  /** The host's spelling of a place. */
  format(place: Place): string {
    return this.#presence.mounts.format(place)
  }

  resolve(place: Place, signal: AbortSignal | undefined): Promise<FsTarget> {
    const shown = this.format(place)
    return inHostTerms(async () => {
      const ask = (): Promise<Place['path']> =>
        this.#files(place).canonical(place.path, { ...options(signal), shown })
      const path = await this.#orKnownFolder(place, ask, place.path)
      return { targetKey: FsTargetKey(placeKey({ machine: place.machine, path })), displayPath: shown }
    })
  }

  stat(place: Place, target: FsTarget, signal: AbortSignal | undefined): Promise<FsInfo | undefined> {
    const looked = async (): Promise<FsInfo | undefined> => {
      const stat = await this.#files(place).stat(shownAs(place, target), options(signal))
      if (stat === undefined) return undefined
      const type = stat.type === 'symlink' ? 'other' : stat.type
      return { type, size: stat.size, version: FsVersion(stat.version) }
    }
    return inHostTerms(() => this.#orKnownFolder(place, looked, UNREACHABLE_FOLDER))
  }

  lstat(place: Place, signal: AbortSignal | undefined): Promise<FsPathInfo | undefined> {
    const file = { path: place.path, shown: this.format(place) }
    const looked = async (): Promise<FsPathInfo | undefined> => {
      const stat = await this.#files(place).stat(file, { ...options(signal), follow: false })
      if (stat === undefined) return undefined
      return { type: stat.type, size: stat.size, version: FsVersion(stat.version) }
    }
    return inHostTerms(() => this.#orKnownFolder(place, looked, UNREACHABLE_FOLDER))
  }

  readText(place: Place, target: FsTarget, signal: AbortSignal | undefined): Promise<string> {
    return inHostTerms(() => this.#files(place).readText(shownAs(place, target), options(signal)))
  }

  async *streamText(
    place: Place,
    target: FsTarget,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string, void, undefined> {
    try {
      yield* this.#files(place).streamText(shownAs(place, target), options(signal))
    } catch (error) {
      throw toFsError(error)
    }
  }

  readBytes(
    place: Place,
    target: FsTarget,
    maxBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    return inHostTerms(() => this.#files(place).readBytes(shownAs(place, target), maxBytes, options(signal)))
  }

  readByteRange(
    place: Place,
    target: FsTarget,
    range: { offset: number; length: number },
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    return inHostTerms(() =>
      this.#files(place).readRange(shownAs(place, target), range.offset, range.length, options(signal)),
    )
  }

  listDir(place: Place, target: FsTarget, signal: AbortSignal | undefined): Promise<FsDirEntry[]> {
    return inHostTerms(async () => {
      const entries = await this.#files(place).list(shownAs(place, target), options(signal))
      return entries.map((entry) => ({
        name: entry.name,
        type: entry.type,
        target: {
          targetKey: FsTargetKey(placeKey({ machine: place.machine, path: entry.path })),
          displayPath: this.#presence.mounts.below(target.displayPath, entry.name),
        },
        ...(entry.version === undefined ? {} : { version: FsVersion(entry.version) }),
        ...(entry.type === 'file' ? { size: entry.size } : {}),
      }))
    })
  }

  writeText(
    place: Place,
    target: FsTarget,
    content: string,
    expected: FsWriteIntent | undefined,
    policy: SessionPolicy,
    signal: AbortSignal | undefined,
  ): Promise<FsWriteOutcome> {
    return inHostTerms(async () => {
      const fence = await fenceOf(this.#presence, place, target.displayPath, policy, signal)
      const outcome = await this.#files(place).write(
        shownAs(place, target),
        content,
        guardOf(expected),
        this.#diffLimit,
        { fence, ...options(signal) },
      )
      return {
        operation: outcome.created ? 'create' : 'update',
        version: FsVersion(outcome.version),
        before: outcome.before,
        after: outcome.after,
      }
    })
  }

  editText(
    place: Place,
    target: FsTarget,
    edit: FsEditRequest,
    expected: { version: FsVersion } | undefined,
    policy: SessionPolicy,
    signal: AbortSignal | undefined,
  ): Promise<FsEditOutcome> {
    return inHostTerms(async () => {
      const fence = await fenceOf(this.#presence, place, target.displayPath, policy, signal)
      const { oldString, newString, replaceAll } = edit
      const asked = { oldString, newString, matches: replaceAll ? ('any' as const) : 1 }
      const outcome = await this.#files(place).edit(shownAs(place, target), asked, expected?.version, {
        fence,
        caller: currentSession(),
        signal,
      })
      return { version: FsVersion(outcome.version), before: outcome.before ?? '', after: outcome.after }
    })
  }

  watch(
    place: Place,
    target: FsTarget,
    changed: (error?: Error) => void,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    const told = (error?: Error): void => {
      if (error === undefined) return changed()
      const failure = toFsError(error)
      changed(failure instanceof Error ? failure : error)
    }
    return inHostTerms(() => this.#files(place).watch(shownAs(place, target), told, signal))
  }

  #files(place: Place): RemoteFiles {
    return this.#presence.files(place.machine)
  }

  /**
   * A session's own folder is known to be one while its machine cannot be asked: later hosts look at it
   * before every turn and would refuse even to talk otherwise.
   */
  async #orKnownFolder<T>(place: Place, ask: () => Promise<T>, known: T): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      const unreachable =
        error instanceof PresenceError &&
        error.family !== 'cancelled' &&
        this.#presence.machine(place.machine).current === undefined
      if (unreachable && this.#isKnownFolder(place)) return known
      throw error
    }
  }

  #isKnownFolder(place: Place): boolean {
    if (place.path === '/' || this.#presence.workspaces.find(place) !== undefined) return true
    const cwd = currentSession()?.cwd
    const own = cwd === undefined ? null : this.#presence.mounts.parse(cwd)
    return own !== null && own.machine === place.machine && own.path === place.path
  }
}

/**
 * Those who look at many things of a machine that is away must not wait for it each time anew: the host itself
 * and its pages for as long as it is hopeless, a tool call of the model once.
 */
function options(signal: AbortSignal | undefined): CallOptions {
  const caller = currentSession()
  if (caller?.phase !== 'tool') return { signal, caller, hurry: 'when-due' }
  return { signal, caller, hurry: caller.began === undefined ? 'now' : { since: caller.began } }
}

function shownAs(place: Place, target: FsTarget): Shown {
  return { path: place.path, shown: target.displayPath }
}

function guardOf(expected: FsWriteIntent | undefined): WriteGuard {
  if (expected === undefined) return { kind: 'none' }
  return expected.kind === 'createIfAbsent'
    ? { kind: 'absent' }
    : { kind: 'version', version: expected.version }
}
