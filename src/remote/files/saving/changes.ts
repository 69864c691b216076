/**
 * Writing and editing files of one machine: guard, match and publication of one file are one critical
 * section. By SFTP, which knows all cases; where a question to the helper shell can do it, that is tried
 * first (`quick-changes.ts`).
 */
import { PresenceError } from '../../../base/failure.ts'
import { KeyedLock } from '../../../base/keyed-lock.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { MachineSession } from '../../session.ts'
import { canonicalPath } from '../canonical.ts'
import {
  alreadyThere,
  asDiffBasis,
  stale,
  type ChangeOptions,
  type WriteGuard,
  type WriteOutcome,
} from './change.ts'
import { contentOfBytes, contentOfText } from './content.ts'
import type { ContentMemory } from '../memory/content-memory.ts'
import { edited } from './edited.ts'
import { FileError, asFileError } from '../errors.ts'
import type { Leftovers } from './leftovers.ts'
import type { QuickChanges } from '../by-shell/quick-changes.ts'
import { WHOLE_FILE, readAll, type Shown } from '../read.ts'
import { AlreadyThereError, publish } from './save.ts'
import { statPath, type FileStat } from '../stat.ts'
import { withUnixLineEnds, type LiteralEdit } from '../text.ts'
import { VolumeError } from './volume.ts'

/** At a time, of a content whose hash is kept. */
const REMEMBERED_BYTES = 64 * 1024
const DANGLING = ': it is a link to something that does not exist; write to that, or remove the link'

/** What changes need of the files that they belong to. */
export interface ChangeNeeds {
  readonly machine: string
  readonly memory: ContentMemory
  readonly leftovers: Leftovers
  readonly quick: QuickChanges
  session(signal: AbortSignal | undefined): Promise<MachineSession>
  /** Whether questions to the helper shell are worth it. */
  isFar(session: MachineSession): boolean
  /** What was known of the file, or of what is above it, may be wrong from now on. */
  changed(path: RemotePath): void
}

type Attempt<T> = (session: MachineSession, file: Shown, existing: FileStat | undefined) => Promise<T>

export class Changes {
  readonly #locks = new KeyedLock()
  readonly #around: ChangeNeeds

  constructor(around: ChangeNeeds) {
    this.#around = around
  }

  write(
    file: Shown,
    content: string,
    guard: WriteGuard,
    diffLimit: number,
    options: ChangeOptions,
  ): Promise<WriteOutcome> {
    const { signal } = options
    return this.#change(
      file,
      'write',
      options,
      (session) => this.#around.quick.write(session, file, content, guard, diffLimit, options),
      (session, found, existing) => this.#write(session, found, existing, content, guard, diffLimit, signal),
    )
  }

  edit(
    file: Shown,
    edit: LiteralEdit,
    version: string | undefined,
    options: ChangeOptions,
  ): Promise<WriteOutcome> {
    return this.#change(
      file,
      'edit',
      options,
      (session) => this.#around.quick.edit(session, file, edit, version, options),
      (session, found, existing) => this.#edit(session, found, existing, edit, version, options.signal),
    )
  }

  /** Both ways look again at where the path leads, so that a link swapped since cannot lead past the fence. */
  async #change<T>(
    file: Shown,
    verb: string,
    options: ChangeOptions,
    quickly: (session: MachineSession) => Promise<T | undefined>,
    thoroughly: Attempt<T>,
  ): Promise<T> {
    const found = { ...file }
    try {
      const session = await this.#around.session(options.signal)
      return await this.#locks.run(file.path, async () => {
        if (this.#around.isFar(session)) {
          options.fence?.(file.path)
          const done = await quickly(session)
          if (done !== undefined) return done
        }
        const { path, existing } = await this.#whereNow(session, file, options)
        found.path = path
        options.fence?.(path)
        if (path === file.path) return thoroughly(session, found, existing)
        // What a canonical path leads to is itself: nobody who holds this lock waits for another.
        return this.#locks.run(path, async () =>
          thoroughly(session, found, await statPath(session, path, true, options.signal)),
        )
      })
    } catch (error) {
      throw await this.#explained(error, found, verb)
    } finally {
      this.#around.changed(found.path)
    }
  }

  /** Where the path leads, when the caller's answer may be an old one or a fence depends on it; what is there. */
  async #whereNow(
    session: MachineSession,
    file: Shown,
    { fence, caller, signal }: ChangeOptions,
  ): Promise<{ readonly path: RemotePath; readonly existing: FileStat | undefined }> {
    const believed = caller?.changes === true
    if (fence === undefined && !believed) {
      return { path: file.path, existing: await statPath(session, file.path, true, signal) }
    }
    const looking = statPath(session, file.path, true, signal)
    looking.catch((_theOtherTellsMore: unknown) => undefined)
    const path = await canonicalPath(session, file.path, file.shown, signal)
    return { path, existing: await looking }
  }

  async #write(
    session: MachineSession,
    file: Shown,
    existing: FileStat | undefined,
    content: string,
    guard: WriteGuard,
    diffLimit: number,
    signal: AbortSignal | undefined,
  ): Promise<WriteOutcome> {
    if (existing !== undefined && existing.type !== 'file') {
      throw new FileError(`cannot write "${file.shown}": not a regular file`, 'not-regular')
    }
    if (guard.kind === 'absent' && existing !== undefined) throw alreadyThere(file)
    if (guard.kind === 'version') this.#requireVersion(file, 'write', existing, guard.version, undefined)
    const outgoing = contentOfText(content)
    let old: Buffer | undefined
    const version = await publish(
      session,
      {
        path: file.path,
        content: outgoing,
        outfit: existing,
        onlyIfAbsent: guard.kind === 'absent',
        before: async () => {
          old = await this.#contentFor(session, file, existing, guard, outgoing.length, diffLimit, signal)
          if (guard.kind === 'version') this.#requireVersion(file, 'write', existing, guard.version, old)
        },
      },
      this.#around.leftovers,
      signal,
    )
    this.#around.memory.remember(
      file.path,
      version,
      outgoing.pieces(() => REMEMBERED_BYTES),
    )
    return {
      created: existing === undefined,
      version,
      before: old === undefined || old.length >= diffLimit ? null : asDiffBasis(old),
      after: withUnixLineEnds(content),
    }
  }

  async #edit(
    session: MachineSession,
    file: Shown,
    existing: FileStat | undefined,
    edit: LiteralEdit,
    version: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<WriteOutcome> {
    if (existing === undefined) throw stale(file, 'edit')
    if (existing.type !== 'file') {
      throw new FileError(`cannot edit "${file.shown}": not a regular file`, 'not-regular')
    }
    if (version !== undefined && existing.version !== version) throw stale(file, 'edit')
    const bytes = await readAll(session, file, existing.size, WHOLE_FILE, signal)
    if (version !== undefined) this.#requireVersion(file, 'edit', existing, version, bytes)
    const { before, after, content } = edited(file, bytes, edit)
    const published = await publish(
      session,
      { path: file.path, content: contentOfBytes(content), outfit: existing, onlyIfAbsent: false },
      this.#around.leftovers,
      signal,
    )
    this.#around.memory.remember(file.path, published, [content])
    return { created: false, version: published, before, after }
  }

  /** A refused change in the caller's terms, with the reason that the answer alone does not tell. */
  async #explained(error: unknown, file: Shown, verb: string): Promise<unknown> {
    const doing = `cannot ${verb} "${file.shown}"`
    if (error instanceof AlreadyThereError) {
      if (error.type === 'file') return alreadyThere(file)
      const dangling = await leadsNowhere(() => this.#around.session(undefined), file.path)
      return new FileError(`${doing}: not a regular file${dangling ? DANGLING : ''}`, 'not-regular')
    }
    if (error instanceof VolumeError) {
      return new FileError(`${doing}: ${error.message}`, 'io', {
        machine: this.#around.machine,
        cause: error,
      })
    }
    return asFileError(error, doing)
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
      this.#around.memory.covers(file.path, guard.version)
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
    if (content !== undefined && !this.#around.memory.agrees(file.path, version, content)) {
      throw stale(file, verb)
    }
  }
}

/** For a path that is there by its name: a link to nothing. */
async function leadsNowhere(session: () => Promise<MachineSession>, path: RemotePath): Promise<boolean> {
  try {
    return (await statPath(await session(), path, true)) === undefined
  } catch (error) {
    // Then it is told without this.
    if (error instanceof PresenceError) return false
    throw error
  }
}
