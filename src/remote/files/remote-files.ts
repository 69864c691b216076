/**
 * Files on one machine, in the host's terms but without the host: resolve, stat, read, list, write,
 * edit. Guard, match and publication of one file are one critical section here.
 */
import type { RemotePath } from '../../base/remote-path.ts'
import { KeyedLock } from '../../base/keyed-lock.ts'
import { PresenceError } from '../../base/failure.ts'
import type { Hurry } from '../../ssh/connection/machine-connection.ts'
import type { Machine } from '../machine.ts'
import type { MachineSession } from '../session.ts'
import { canonicalPath } from './canonical.ts'
import { ContentMemory } from './content-memory.ts'
import { FileError, asFileError } from './errors.ts'
import { listFolder, type ListedEntry } from './list.ts'
import { Leftovers } from './leftovers.ts'
import { readAll, readChunks, readRange, requireRegular, type Shown } from './read.ts'
import { AlreadyThereError, publish } from './save.ts'
import { statPath, type FileStat } from './stat.ts'
import { VolumeError } from './volume.ts'
import type { Observation } from './watch/observation.ts'
import { observe } from './watch/observe.ts'
import { Watcher } from './watch/watcher.ts'
import {
  BINARY_SAMPLE_BYTES,
  TextStream,
  applyEdit,
  decodeText,
  lineEndOf,
  withLineEnds,
  withUnixLineEnds,
  type LiteralEdit,
} from './text.ts'

/** What a write requires of the file that is there. */
export type WriteGuard =
  | { readonly kind: 'none' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'version'; readonly version: string }

export interface WriteOutcome {
  readonly created: boolean
  readonly version: string
  /** LF-normalised text before, or null: new, binary, too large to compare. */
  readonly before: string | null
  /** LF-normalised text after. */
  readonly after: string
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** See `MachineConnection.link`; default `now`. */
  readonly hurry?: Hurry | undefined
}

const DANGLING = ': it is a link to something that does not exist; write to that, or remove the link'
const WHOLE_FILE = Number.MAX_SAFE_INTEGER
/** A connection that broke later than that is not worth another wait of the same caller. */
const RETRY_WITHIN_MS = 5000

export class RemoteFiles {
  readonly #machine: Machine
  readonly #locks = new KeyedLock()
  readonly #memory = new ContentMemory()
  readonly #leftovers = new Leftovers()
  readonly #watcher: Watcher

  constructor(machine: Machine) {
    this.#machine = machine
    this.#watcher = new Watcher(machine)
  }

  /** `shown` is the path as messages show it; default: the path itself. */
  async canonical(
    path: RemotePath,
    options: CallOptions & { readonly shown?: string } = {},
  ): Promise<RemotePath> {
    const shown = options.shown ?? path
    return this.#reading(options, (session) => canonicalPath(session, path, shown, options.signal)).catch(
      (error: unknown) => {
        throw asFileError(error, `cannot resolve "${shown}"`)
      },
    )
  }

  /** @returns undefined when nothing is there. */
  async stat(
    file: Shown,
    options: CallOptions & { readonly follow?: boolean } = {},
  ): Promise<FileStat | undefined> {
    const { follow = true, signal } = options
    return this.#reading(options, (session) => statPath(session, file.path, follow, signal)).catch(
      (error: unknown) => {
        throw asFileError(error, `cannot stat "${file.shown}"`)
      },
    )
  }

  async readText(file: Shown, options: CallOptions = {}): Promise<string> {
    return this.#reading(options, async (session) => {
      const stat = await requireRegular(session, file, 'read', options.signal)
      const bytes = await readAll(session, file, stat.size, WHOLE_FILE, options.signal)
      this.#memory.remember(file.path, stat.version, bytes)
      if (bytes.subarray(0, BINARY_SAMPLE_BYTES).includes(0)) {
        throw new FileError(`cannot read "${file.shown}": binary file`, 'not-text', {
          machine: session.machine,
        })
      }
      return decodeText(bytes, 'read', file.shown)
    })
  }

  async *streamText(file: Shown, options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
    const session = await this.#session(options)
    const stat = await requireRegular(session, file, 'read', options.signal)
    const text = new TextStream(file.shown)
    const memory = this.#memory.watch(file.path, stat.version)
    for await (const chunk of readChunks(session, file, stat.size, options.signal)) {
      memory?.piece(chunk)
      yield text.decode(chunk)
    }
    memory?.done()
    yield text.decode(undefined)
  }

  async readBytes(file: Shown, maxBytes: number, options: CallOptions = {}): Promise<Buffer> {
    return this.#reading(options, async (session) => {
      const stat = await requireRegular(session, file, 'read', options.signal)
      const bytes = await readAll(session, file, stat.size, maxBytes, options.signal)
      this.#memory.remember(file.path, stat.version, bytes)
      return bytes
    })
  }

  async readRange(file: Shown, offset: number, length: number, options: CallOptions = {}): Promise<Buffer> {
    return this.#reading(options, async (session) => {
      await requireRegular(session, file, 'read', options.signal)
      return readRange(session, file, offset, length, options.signal)
    })
  }

  async list(folder: Shown, options: CallOptions = {}): Promise<ListedEntry[]> {
    return this.#reading(options, (session) => listFolder(session, folder, options.signal))
  }

  /** What is at each of many paths now, in their order and in one flight: a round of the watches. */
  async observe(paths: readonly RemotePath[], options: CallOptions = {}): Promise<Observation[]> {
    return this.#reading(options, (session) => observe(session, paths, options.signal))
  }

  /**
   * Tell of changes to a file, a folder with its direct entries, or what is not there yet.
   * @param signal - cancels the beginning only, as with the host's own provider.
   * @returns the end of the watch. @throws as `Watcher.begin`.
   */
  async watch(
    file: Shown,
    changed: (error?: Error) => void,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    return this.#reading({ signal, hurry: 'when-due' }, (session) =>
      this.#watcher.begin(session, file, changed, signal),
    )
  }

  /**
   * Create or replace a file.
   * @param diffLimit - texts of this many bytes or more are not given back as `before`.
   * @throws FileError `stale`, `exists`, `not-regular`, `permission-denied`, `io`.
   */
  write(
    file: Shown,
    content: string,
    guard: WriteGuard,
    diffLimit: number,
    signal?: AbortSignal,
  ): Promise<WriteOutcome> {
    return this.#changing(file, 'write', signal, async (session, existing) => {
      if (existing !== undefined && existing.type !== 'file') {
        throw new FileError(`cannot write "${file.shown}": not a regular file`, 'not-regular')
      }
      if (guard.kind === 'absent' && existing !== undefined) throw alreadyThere(file)
      const bytes = Buffer.from(content, 'utf8')
      const old = await this.#contentFor(session, file, existing, guard, bytes.length, diffLimit, signal)
      if (guard.kind === 'version') this.#requireVersion(file, 'write', existing, guard.version, old)
      await publish(
        session,
        { path: file.path, content: bytes, outfit: existing, onlyIfAbsent: guard.kind === 'absent' },
        this.#leftovers,
        signal,
      )
      return {
        created: existing === undefined,
        version: await this.#versionAfter(session, file, bytes),
        before: old === undefined || old.length >= diffLimit ? null : asDiffBasis(old),
        after: withUnixLineEnds(content),
      }
    })
  }

  /** Replace a literal text. @throws FileError as `write`, and `edit-not-found`, `ambiguous-edit`, `not-text`. */
  edit(
    file: Shown,
    edit: LiteralEdit,
    version: string | undefined,
    signal?: AbortSignal,
  ): Promise<WriteOutcome> {
    return this.#changing(file, 'edit', signal, async (session, existing) => {
      if (existing === undefined) throw stale(file, 'edit')
      if (existing.type !== 'file') {
        throw new FileError(`cannot edit "${file.shown}": not a regular file`, 'not-regular')
      }
      if (version !== undefined && existing.version !== version) throw stale(file, 'edit')
      const bytes = await readAll(session, file, existing.size, WHOLE_FILE, signal)
      if (version !== undefined) this.#requireVersion(file, 'edit', existing, version, bytes)
      if (bytes.includes(0)) throw new FileError(`cannot edit "${file.shown}": binary file`, 'not-text')
      const text = decodeText(bytes, 'edit', file.shown)
      const before = withUnixLineEnds(text)
      const after = applyEdit(before, edit, file.shown)
      const content = Buffer.from(withLineEnds(after, lineEndOf(text)), 'utf8')
      await publish(
        session,
        { path: file.path, content, outfit: existing, onlyIfAbsent: false },
        this.#leftovers,
        signal,
      )
      return { created: false, version: await this.#versionAfter(session, file, content), before, after }
    })
  }

  /**
   * Reads change nothing, so one is tried again on a fresh connection when the old one broke. Not when that
   * showed only by silence: the caller has waited long enough, and the machine would be silent again.
   */
  async #reading<T>(options: CallOptions, read: (session: MachineSession) => Promise<T>): Promise<T> {
    const began = performance.now()
    try {
      return await read(await this.#session(options))
    } catch (error) {
      const broke = error instanceof PresenceError && error.family === 'transport'
      const late = performance.now() - began > RETRY_WITHIN_MS
      if (!broke || late || this.#machine.current?.link.alive === true) throw error
      return read(await this.#session(options))
    }
  }

  #changing<T>(
    file: Shown,
    verb: string,
    signal: AbortSignal | undefined,
    change: (session: MachineSession, existing: FileStat | undefined) => Promise<T>,
  ): Promise<T> {
    return this.#locks.run(file.path, async () => {
      try {
        const session = await this.#session({ signal })
        return await change(session, await statPath(session, file.path, true, signal))
      } catch (error) {
        throw await this.#explained(error, file, verb)
      }
    })
  }

  /** A refused change in the caller's terms, with the reason that the answer alone does not tell. */
  async #explained(error: unknown, file: Shown, verb: string): Promise<unknown> {
    const doing = `cannot ${verb} "${file.shown}"`
    const session = this.#machine.current
    if (error instanceof AlreadyThereError) {
      if (error.type === 'file') return alreadyThere(file)
      const dangling = session !== undefined && (await leadsNowhere(session, file.path))
      return new FileError(`${doing}: not a regular file${dangling ? DANGLING : ''}`, 'not-regular')
    }
    if (error instanceof VolumeError) {
      return new FileError(`${doing}: ${error.message}`, 'io', { machine: this.#machine.name, cause: error })
    }
    return asFileError(error, doing)
  }

  async #session(options: CallOptions): Promise<MachineSession> {
    const session = await this.#machine.session(options.signal, options.hurry)
    await this.#leftovers.sweep(session)
    return session
  }

  /** The present content, where the guard or the diff needs it. */
  async #contentFor(
    session: MachineSession,
    file: Shown,
    existing: FileStat | undefined,
    guard: WriteGuard,
    newBytes: number,
    diffLimit: number,
    signal: AbortSignal | undefined,
  ): Promise<Buffer | undefined> {
    if (existing === undefined) return undefined
    const forDiff = newBytes < diffLimit && existing.size < diffLimit
    const forGuard =
      guard.kind === 'version' &&
      guard.version === existing.version &&
      this.#memory.covers(file.path, guard.version)
    if (!forDiff && !forGuard) return undefined
    try {
      return await readAll(session, file, existing.size, WHOLE_FILE, signal)
    } catch (error) {
      // A file that may be replaced but not read is still replaced; only the diff is missing then, and the
      // guard has the token alone, as it would have had for a reader who could not read.
      if (asFileError(error, '') instanceof FileError) return undefined
      throw error
    }
  }

  #requireVersion(
    file: Shown,
    verb: string,
    existing: FileStat | undefined,
    version: string,
    content: Buffer | undefined,
  ): void {
    if (existing === undefined) {
      throw new FileError(`cannot ${verb} "${file.shown}": file no longer exists`, 'stale')
    }
    if (existing.version !== version) throw stale(file, verb)
    if (content !== undefined && !this.#memory.agrees(file.path, version, content)) throw stale(file, verb)
  }

  /** After the commit point: a failure to look at the result does not undo the success. */
  async #versionAfter(session: MachineSession, file: Shown, content: Buffer): Promise<string> {
    try {
      const version = (await statPath(session, file.path, true))?.version ?? `missing:${file.path}`
      this.#memory.remember(file.path, version, content)
      return version
    } catch (error) {
      if (!(error instanceof PresenceError)) throw error
      return `unseen:${file.path}:${performance.now()}`
    }
  }
}

function stale(file: Shown, verb: string): FileError {
  return new FileError(`cannot ${verb} "${file.shown}": file changed since it was read`, 'stale')
}

/** For a path that is there by its name: a link to nothing. */
async function leadsNowhere(session: MachineSession, path: RemotePath): Promise<boolean> {
  try {
    return (await statPath(session, path, true)) === undefined
  } catch (error) {
    // Then it is told without this.
    if (error instanceof PresenceError) return false
    throw error
  }
}

function alreadyThere(file: Shown): FileError {
  return new FileError(`cannot overwrite existing "${file.shown}" without reading it first`, 'exists')
}

/** Text for a diff, or null for what is not text. */
function asDiffBasis(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null
  try {
    return withUnixLineEnds(decodeText(bytes, 'read', ''))
  } catch (error) {
    if (error instanceof FileError) return null
    throw error
  }
}
