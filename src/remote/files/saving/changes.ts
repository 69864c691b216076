/**
 * Writing and editing files of one machine: guard, match and publication of one file are one critical
 * section. By SFTP, which knows all cases; where a question to the helper shell can do it, that is tried
 * first (`quick-changes.ts`).
 */
import { KeyedLock } from '../../../base/keyed-lock.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { MachineSession } from '../../session.ts'
import { canonicalPath } from '../canonical.ts'
import { BegunTemporary } from './begun-temporary.ts'
import {
  alreadyThere,
  asDiffBasis,
  stale,
  type ChangeOptions,
  type Fence,
  type WriteGuard,
  type WriteOutcome,
} from './change.ts'
import { contentOfBytes, contentOfText, type Content } from './content.ts'
import type { ContentMemory } from '../memory/content-memory.ts'
import { LARGEST_BYTES, type Contents } from '../memory/contents.ts'
import { edited } from './edited.ts'
import { FileError } from '../errors.ts'
import { explained } from './explained.ts'
import { foreseeEdit, type ForeseenEdit } from './foreseen-edit.ts'
import type { Leftovers } from './leftovers.ts'
import type { QuickChanges } from '../by-shell/quick-changes.ts'
import { oldContent } from './old-content.ts'
import { WHOLE_FILE, readAll, type Shown } from '../read.ts'
import { publish, type Published } from './save.ts'
import { statPath, type FileStat } from '../stat.ts'
import { withUnixLineEnds, type LiteralEdit } from '../text.ts'
import { isSmall } from '../transfer/lane.ts'
import { isExact } from '../versions.ts'

/** At a time, of a content whose hash is kept. */
const REMEMBERED_BYTES = 64 * 1024

/** What changes need of the files that they belong to. */
export interface ChangeNeeds {
  readonly machine: string
  readonly memory: ContentMemory
  readonly contents: Contents
  readonly leftovers: Leftovers
  readonly quick: QuickChanges
  session(signal: AbortSignal | undefined): Promise<MachineSession>
  /** Whether questions to the helper shell are worth it. */
  isFar(session: MachineSession): boolean
  /** What was known of the file, or of what is above it, may be wrong from now on. */
  changed(path: RemotePath): void
}

/** One change, by either way. */
interface Attempt<T> {
  readonly verb: string
  readonly mayBeNew: boolean
  /** @returns undefined when nothing was changed. */
  quickly(session: MachineSession): Promise<T | undefined>
  /** How much will be written, if that is known before the file is looked at. */
  bytes(): number | undefined
  thoroughly(place: Looked): Promise<T>
}

/** What was found where a change is to be made. */
interface Looked {
  readonly session: MachineSession
  readonly file: Shown
  readonly existing: FileStat | undefined
  readonly begun: BegunTemporary | undefined
  readonly signal: AbortSignal | undefined
}

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
    return this.#change(file, options, {
      verb: 'write',
      mayBeNew: guard.kind !== 'version',
      quickly: (session) => this.#around.quick.write(session, file, content, guard, diffLimit, options),
      bytes: () => (guard.kind === 'none' ? undefined : Buffer.byteLength(content)),
      thoroughly: (looked) => this.#write(looked, content, guard, diffLimit),
    })
  }

  edit(
    file: Shown,
    edit: LiteralEdit,
    version: string | undefined,
    options: ChangeOptions,
  ): Promise<WriteOutcome> {
    let foreseen: ForeseenEdit | undefined
    return this.#change(file, options, {
      verb: 'edit',
      mayBeNew: false,
      quickly: (session) => this.#around.quick.edit(session, file, edit, version, options),
      bytes: () => {
        foreseen = version === undefined ? undefined : foreseeEdit(file, edit, version, this.#around)
        return foreseen?.edited.content.length
      },
      thoroughly: (looked) => this.#edit(looked, edit, version, foreseen),
    })
  }

  /** Both ways look again at where the path leads, so that a link swapped since cannot lead past the fence. */
  async #change<T>(file: Shown, options: ChangeOptions, attempt: Attempt<T>): Promise<T> {
    const found = { ...file }
    const { signal } = options
    try {
      const session = await this.#around.session(signal)
      return await this.#locks.run(file.path, async () => {
        if (this.#around.isFar(session)) {
          options.fence?.(file.path)
          const done = await attempt.quickly(session)
          if (done !== undefined) return done
        }
        const looking = this.#whereNow(session, file, options, attempt.mayBeNew)
        const begun = this.#begin(session, file, options, attempt)
        try {
          const { path, existing } = await looking
          found.path = path
          options.fence?.(path)
          if (path === file.path) {
            return await attempt.thoroughly({ session, file: found, existing, begun, signal })
          }
          await begun?.giveUp()
          // What a canonical path leads to is itself: nobody who holds this lock waits for another.
          return await this.#locks.run(path, async () => {
            const there = await statPath(session, path, true, signal)
            return attempt.thoroughly({ session, file: found, existing: there, begun: undefined, signal })
          })
        } finally {
          await begun?.giveUp()
        }
      })
    } catch (error) {
      throw await explained(error, found, attempt.verb, this.#around)
    } finally {
      this.#around.changed(found.path)
    }
  }

  /**
   * The temporary file, in the flight of the look: for a file that was seen as it is demanded to be, so that it will
   * most likely be wanted. Where versions are asked of the shell, the look is no flight of SFTP alone.
   */
  #begin<T>(
    session: MachineSession,
    { path }: Shown,
    { fence, signal }: ChangeOptions,
    attempt: Attempt<T>,
  ): BegunTemporary | undefined {
    if (session.hasExactVersions || !isAllowed(fence, path)) return undefined
    const bytes = attempt.bytes()
    if (bytes === undefined || !isSmall(bytes)) return undefined
    return new BegunTemporary(session, path, bytes, this.#around.leftovers, signal)
  }

  /** Where the path leads, when the caller's answer may be an old one or a fence depends on it; what is there. */
  async #whereNow(
    session: MachineSession,
    file: Shown,
    { fence, caller, signal }: ChangeOptions,
    mayBeNew: boolean,
  ): Promise<{ readonly path: RemotePath; readonly existing: FileStat | undefined }> {
    const believed = caller?.changes === true
    if (fence === undefined && !believed) {
      return { path: file.path, existing: await statPath(session, file.path, true, signal) }
    }
    const looking = statPath(session, file.path, true, signal)
    looking.catch((_theOtherTellsMore: unknown) => undefined)
    const withFolder = mayBeNew && !session.hasExactVersions
    const path = await canonicalPath(session, file.path, file.shown, signal, withFolder)
    return { path, existing: await looking }
  }

  async #write(
    { session, file, existing, begun, signal }: Looked,
    content: string,
    guard: WriteGuard,
    diffLimit: number,
  ): Promise<WriteOutcome> {
    if (existing !== undefined && existing.type !== 'file') {
      throw new FileError(`cannot write "${file.shown}": not a regular file`, 'not-regular')
    }
    if (guard.kind === 'absent' && existing !== undefined) throw alreadyThere(file)
    if (guard.kind === 'version') this.#requireVersion(file, 'write', existing, guard.version, undefined)
    const outgoing = contentOfText(content)
    let old: Buffer | undefined
    const published = await publish(
      session,
      {
        path: file.path,
        content: outgoing,
        outfit: existing,
        onlyIfAbsent: guard.kind === 'absent',
        before: async () => {
          if (existing === undefined || !this.#needsOld(file, existing, guard, outgoing.length, diffLimit))
            return
          old = await oldContent(session, file, existing, signal)
          if (guard.kind === 'version') this.#requireVersion(file, 'write', existing, guard.version, old)
        },
        begun,
      },
      this.#around.leftovers,
      signal,
    )
    this.#remember(file.path, published, outgoing, () => Buffer.from(content))
    return {
      created: existing === undefined,
      version: published.version,
      before: old === undefined || old.length >= diffLimit ? null : asDiffBasis(old),
      after: withUnixLineEnds(content),
    }
  }

  async #edit(
    { session, file, existing, begun, signal }: Looked,
    edit: LiteralEdit,
    version: string | undefined,
    foreseen: ForeseenEdit | undefined,
  ): Promise<WriteOutcome> {
    if (existing === undefined) throw stale(file, 'edit')
    if (existing.type !== 'file') {
      throw new FileError(`cannot edit "${file.shown}": not a regular file`, 'not-regular')
    }
    if (version !== undefined && existing.version !== version) throw stale(file, 'edit')
    const present = async (): Promise<Buffer> => {
      const bytes = await readAll(session, file, existing.size, WHOLE_FILE, signal)
      if (version !== undefined) this.#requireVersion(file, 'edit', existing, version, bytes)
      return bytes
    }
    const isAsForeseen = async (): Promise<void> => {
      if (foreseen?.held.equals(await present()) === false) throw stale(file, 'edit')
    }
    const { before, after, content } = foreseen?.edited ?? edited(file, await present(), edit)
    const outgoing = contentOfBytes(content)
    const published = await publish(
      session,
      {
        path: file.path,
        content: outgoing,
        outfit: existing,
        onlyIfAbsent: false,
        before: foreseen && isAsForeseen,
        begun,
      },
      this.#around.leftovers,
      signal,
    )
    this.#remember(file.path, published, outgoing, () => content)
    return { created: false, version: published.version, before, after }
  }

  #remember(path: RemotePath, published: Published, content: Content, whole: () => Buffer): void {
    const { memory, contents } = this.#around
    const { version, stat } = published
    memory.remember(
      path,
      version,
      content.pieces(() => REMEMBERED_BYTES),
    )
    // Somebody may have written behind us, before it was looked at: an exact version would be theirs.
    if (stat?.size !== content.length || isExact(version) || content.length > LARGEST_BYTES) return
    contents.keep(path, stat, whole())
  }

  /** Whether the guard or the diff needs the content that is there. */
  #needsOld(
    { path }: Shown,
    existing: FileStat,
    guard: WriteGuard,
    newBytes: number,
    diffLimit: number,
  ): boolean {
    if (newBytes < diffLimit && existing.size < diffLimit) return true
    return (
      guard.kind === 'version' &&
      guard.version === existing.version &&
      this.#around.memory.covers(path, guard.version)
    )
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

function isAllowed(fence: Fence | undefined, path: RemotePath): boolean {
  try {
    fence?.(path)
    return true
  } catch (error) {
    // Whoever finds out where the path leads says so, if it is that.
    if (error instanceof FileError) return false
    throw error
  }
}
