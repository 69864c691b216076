/**
 * Writing and editing files of one machine: guard, match and publication of one file are one critical
 * section. By SFTP, which knows all cases; where a question to the helper shell can do it, that is tried
 * first (`quick-changes.ts`).
 */
import { PresenceError } from '../../base/failure.ts'
import { KeyedLock } from '../../base/keyed-lock.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import type { MachineSession } from '../session.ts'
import { canonicalPath } from './canonical.ts'
import {
  alreadyThere,
  asDiffBasis,
  stale,
  type ChangeOptions,
  type WriteGuard,
  type WriteOutcome,
} from './change.ts'
import type { ContentMemory } from './content-memory.ts'
import { edited } from './edited.ts'
import { FileError, asFileError } from './errors.ts'
import type { Leftovers } from './leftovers.ts'
import type { QuickChanges } from './quick-changes.ts'
import { WHOLE_FILE, readAll, type Shown } from './read.ts'
import { AlreadyThereError, publish } from './save.ts'
import { statPath, type FileStat } from './stat.ts'
import { withUnixLineEnds, type LiteralEdit } from './text.ts'
import { VolumeError } from './volume.ts'

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

type Attempt<T> = (session: MachineSession, file: Shown) => Promise<T>

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
      (session, found) => this.#write(session, found, content, guard, diffLimit, signal),
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
      (session, found) => this.#edit(session, found, edit, version, options.signal),
    )
  }

  /** Both ways look again at where the path leads, so that a link swapped since cannot lead past the fence. */
  async #change<T>(
    file: Shown,
    verb: string,
    { signal, fence }: ChangeOptions,
    quickly: (session: MachineSession) => Promise<T | undefined>,
    thoroughly: Attempt<T>,
  ): Promise<T> {
    let path: RemotePath = file.path
    try {
      const session = await this.#around.session(signal)
      const far = this.#around.isFar(session)
      if (far) {
        fence?.(path)
        const done = await this.#locks.run(path, () => quickly(session))
        if (done !== undefined) return done
      }
      // The caller's own answer may be an old one there.
      if (far || fence !== undefined) {
        path = await canonicalPath(session, path, file.shown, signal)
        fence?.(path)
      }
      const found = { path, shown: file.shown }
      return await this.#locks.run(path, async () => thoroughly(await this.#around.session(signal), found))
    } catch (error) {
      throw await this.#explained(error, { path, shown: file.shown }, verb)
    } finally {
      this.#around.changed(path)
    }
  }

  async #write(
    session: MachineSession,
    file: Shown,
    content: string,
    guard: WriteGuard,
    diffLimit: number,
    signal: AbortSignal | undefined,
  ): Promise<WriteOutcome> {
    const existing = await statPath(session, file.path, true, signal)
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
      this.#around.leftovers,
      signal,
    )
    return {
      created: existing === undefined,
      version: await this.#versionAfter(session, file, bytes),
      before: old === undefined || old.length >= diffLimit ? null : asDiffBasis(old),
      after: withUnixLineEnds(content),
    }
  }

  async #edit(
    session: MachineSession,
    file: Shown,
    edit: LiteralEdit,
    version: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<WriteOutcome> {
    const existing = await statPath(session, file.path, true, signal)
    if (existing === undefined) throw stale(file, 'edit')
    if (existing.type !== 'file') {
      throw new FileError(`cannot edit "${file.shown}": not a regular file`, 'not-regular')
    }
    if (version !== undefined && existing.version !== version) throw stale(file, 'edit')
    const bytes = await readAll(session, file, existing.size, WHOLE_FILE, signal)
    if (version !== undefined) this.#requireVersion(file, 'edit', existing, version, bytes)
    const { before, after, content } = edited(file, bytes, edit)
    await publish(
      session,
      { path: file.path, content, outfit: existing, onlyIfAbsent: false },
      this.#around.leftovers,
      signal,
    )
    return { created: false, version: await this.#versionAfter(session, file, content), before, after }
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

  /** After the commit point: a failure to look at the result does not undo the success. */
  async #versionAfter(session: MachineSession, file: Shown, content: Buffer): Promise<string> {
    try {
      const version = (await statPath(session, file.path, true))?.version ?? `missing:${file.path}`
      this.#around.memory.remember(file.path, version, content)
      return version
    } catch (error) {
      if (!(error instanceof PresenceError)) throw error
      return `unseen:${file.path}:${performance.now()}`
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
