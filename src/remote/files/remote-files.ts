/**
 * Files on one machine, in the host's terms but without the host: resolve, stat, read, list, write, edit.
 *
 * A machine that is far away is asked once for what a caller will want next, where it has a shell for that;
 * what was found out is handed to the same caller's next questions.
 */
import { Emitter } from '../../base/emitter.ts'
import { parentOf, type RemotePath } from '../../base/remote-path.ts'
import { PresenceError } from '../../base/failure.ts'
import type { Hurry } from '../../ssh/connection/machine-connection.ts'
import type { Machine } from '../machine.ts'
import type { MachineSession } from '../session.ts'
import { findCanonical, type Canonical } from './canonical.ts'
import type { ChangeOptions, WriteGuard, WriteOutcome } from './saving/change.ts'
import { Changes } from './saving/changes.ts'
import { ContentMemory } from './memory/content-memory.ts'
import { Contents } from './memory/contents.ts'
import { FileError, asFileError } from './errors.ts'
import { Handover, type Caller } from './memory/handover.ts'
import { KnownPaths } from './memory/known-paths.ts'
import { inOrder, listFolder } from './list.ts'
import { listByShell } from './by-shell/list-by-shell.ts'
import type { ListedEntry } from './listed-entry.ts'
import { Leftovers } from './saving/leftovers.ts'
import { lookByShell, type Look } from './by-shell/look.ts'
import { LookSize } from './by-shell/look-size.ts'
import { QuickChanges } from './by-shell/quick-changes.ts'
import { exactPath, mayBeShown } from './raw-names.ts'
import { WHOLE_FILE, readAll, readChunks, readRange, requireRegular, type Shown } from './read.ts'
import { statOf, statPath, type FileStat } from './stat.ts'
import { Surroundings } from './memory/surroundings.ts'
import { BINARY_SAMPLE_BYTES, TextStream, decodeText, type LiteralEdit } from './text.ts'
import type { Observation } from './watch/observation.ts'
import { observe } from './watch/observe.ts'
import { Watcher } from './watch/watcher.ts'

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** See `MachineConnection.link`; default `now`. */
  readonly hurry?: Hurry | undefined
  /** On whose behalf, when that is known: what is fetched for a call is handed to its next questions. */
  readonly caller?: Caller | undefined
}

/** A connection that broke later than that is not worth another wait of the same caller. */
const RETRY_WITHIN_MS = 5000
/** How long a path is believed to lead to itself by who verifies it when it matters. */
const BELIEVED_MS = 10 * 60 * 1000

export class RemoteFiles {
  /** We have changed, made or replaced a file there. */
  readonly changed = new Emitter<RemotePath>()
  readonly #machine: Machine
  readonly #memory = new ContentMemory()
  readonly #lookSize = new LookSize()
  readonly #leftovers = new Leftovers()
  readonly #contents = new Contents()
  readonly #handover = new Handover()
  readonly #known = new KnownPaths()
  readonly #surroundings = new Surroundings(this.#contents)
  readonly #changes: Changes
  readonly #watcher: Watcher
  /** Whose answers are kept. */
  #answering: MachineSession | undefined

  constructor(machine: Machine) {
    this.#machine = machine
    this.#watcher = new Watcher(machine)
    this.#changes = new Changes({
      machine: machine.name,
      memory: this.#memory,
      contents: this.#contents,
      leftovers: this.#leftovers,
      quick: new QuickChanges(this.#contents, this.#handover, this.#leftovers, this.#lookSize),
      session: (signal) => this.#session({ signal }),
      isFar: (session) => this.#isFar(session),
      changed: (path) => {
        this.#handover.forget()
        this.#surroundings.changed(path)
        this.changed.emit(path)
      },
    })
  }

  /** `shown` is the path as messages show it; default: the path itself. */
  async canonical(
    path: RemotePath,
    options: CallOptions & { readonly shown?: string } = {},
  ): Promise<RemotePath> {
    const shown = options.shown ?? path
    return this.#reading(options, async (session) => {
      if (options.caller?.phase === 'step') {
        const found = await this.#surroundings.look(session, path, options.signal)
        if (found !== undefined) return found.canonical
      }
      if (options.caller?.phase === 'tool') this.#surroundings.include(parentOf(path))
      const believes = options.caller?.changes === true && this.#saves(session)
      if (believes && this.#known.get(path, BELIEVED_MS) === path) return path
      const caller = mayBeShown(path) ? undefined : this.#lookingAhead(session, options)
      const look = caller === undefined ? undefined : await this.#look(session, path, caller, options.signal)
      if (look !== undefined) return look.canonical
      const exact = await exactPath(session, path, shown, options.signal)
      const mayBeNew = options.caller?.changes === true && !session.hasExactVersions
      const found = await findCanonical(session, exact, shown, options.signal, mayBeNew)
      this.#keepSeen(session, path, found, options.caller)
      return found.path
    }).catch((error: unknown) => {
      throw asFileError(error, `cannot resolve "${shown}"`)
    })
  }

  /**
   * Where a path leads, by an answer that may be some time old.
   * @param maxAgeMs - how old, in milliseconds.
   */
  async settled(path: RemotePath, maxAgeMs: number, options: CallOptions = {}): Promise<RemotePath> {
    const known = this.#known.get(path, maxAgeMs)
    if (known !== undefined && this.#machine.current === this.#answering) return known
    const canonical = await this.canonical(path, options)
    this.#known.remember(path, canonical)
    return canonical
  }

  /** @returns undefined when nothing is there. */
  async stat(
    file: Shown,
    options: CallOptions & { readonly follow?: boolean } = {},
  ): Promise<FileStat | undefined> {
    const { follow = true, signal } = options
    return this.#reading(options, async (session) => {
      const found = options.caller?.phase === 'step' && follow ? this.#surroundings.at(file.path) : undefined
      if (found !== undefined) return found.stat
      const held = follow
        ? this.#held(session, options, (caller) => this.#handover.takeStat(file.path, caller))
        : undefined
      if (held !== undefined) return held.value
      const stat = await statPath(session, file.path, follow, signal)
      if (stat !== undefined || !mayBeShown(file.path)) return stat
      const exact = await exactPath(session, file.path, file.shown, signal)
      return exact === file.path ? undefined : statPath(session, exact, follow, signal)
    }).catch((error: unknown) => {
      throw asFileError(error, `cannot stat "${file.shown}"`)
    })
  }

  async readText(file: Shown, options: CallOptions = {}): Promise<string> {
    return this.#reading(options, async (session) => {
      const bytes = await this.#whole(session, file, WHOLE_FILE, options)
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
    const text = new TextStream(file.shown)
    const held = this.#handed(session, file, options)
    if (held !== undefined) {
      yield* text.decode(held)
    } else {
      const stat = await this.#regular(session, file, options)
      const memory = this.#memory.watch(file.path, stat.version)
      for await (const chunk of readChunks(session, file, stat.size, options.signal)) {
        memory?.piece(chunk)
        yield* text.decode(chunk)
      }
      memory?.done()
    }
    yield text.end()
  }

  async readBytes(file: Shown, maxBytes: number, options: CallOptions = {}): Promise<Buffer> {
    return this.#reading(options, (session) => this.#whole(session, file, maxBytes, options))
  }

  async readRange(file: Shown, offset: number, length: number, options: CallOptions = {}): Promise<Buffer> {
    return this.#reading(options, async (session) => {
      await this.#regular(session, file, options)
      return readRange(session, file, offset, length, options.signal)
    })
  }

  async list(folder: Shown, options: CallOptions = {}): Promise<ListedEntry[]> {
    return this.#reading(options, async (session) => {
      if (options.caller?.phase === 'step') {
        const found = await this.#surroundings.look(session, folder.path, options.signal)
        if (found !== undefined && found.stat === undefined) {
          throw new FileError(`cannot list "${folder.shown}": not found`, 'not-found', {
            machine: session.machine,
          })
        }
      }
      const caller = this.#lookingAhead(session, options)
      const held = caller === undefined ? undefined : this.#handover.takeListing(folder.path, caller)
      if (held !== undefined) return inOrder(held)
      const quick = this.#isFar(session) ? await listByShell(session, folder.path, options.signal) : undefined
      return inOrder(quick ?? (await listFolder(session, folder, options.signal)))
    })
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
   * @throws FileError `stale`, `exists`, `not-regular`, `permission-denied`, `sandbox-denied`, `io`.
   */
  write(
    file: Shown,
    content: string,
    guard: WriteGuard,
    diffLimit: number,
    options: ChangeOptions = {},
  ): Promise<WriteOutcome> {
    return this.#changes.write(file, content, guard, diffLimit, options)
  }

  /** Replace a literal text. @throws FileError as `write`, and `edit-not-found`, `ambiguous-edit`, `not-text`. */
  edit(
    file: Shown,
    edit: LiteralEdit,
    version: string | undefined,
    options: ChangeOptions = {},
  ): Promise<WriteOutcome> {
    return this.#changes.edit(file, edit, version, options)
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

  async #session(options: CallOptions): Promise<MachineSession> {
    const session = await this.#machine.session(options.signal, options.hurry)
    if (this.#answering !== session) this.#forgetFor(session)
    await this.#leftovers.sweep(session)
    return session
  }

  /** Nothing that another connection has answered is used: it may have led to another machine. */
  #forgetFor(session: MachineSession): void {
    this.#answering = session
    this.#known.forget()
    this.#contents.forget()
    this.#handover.forget()
    this.#surroundings.forget()
    session.commands.on((what) => {
      if (what === 'reads') {
        // Behind it on the way: the host looks around when it is done.
        this.#surroundings.freshen(session)
        return
      }
      this.#handover.forget()
      this.#surroundings.expire()
      if (what === 'ended') this.#surroundings.freshen(session)
    })
  }

  /** Below some distance the machine's own work for a question takes longer than several requests. */
  #isFar(session: MachineSession): boolean {
    return session.hasFileFunctions && session.roundTripMs >= this.#machine.farFromMs
  }

  /** The call that more should be fetched for than it asks, if it is worth it. */
  #lookingAhead(session: MachineSession, { caller }: CallOptions): Caller | undefined {
    return caller?.phase === 'tool' && this.#isFar(session) ? caller : undefined
  }

  /** Whether questions can be spared there: the machine is far, or each is a round trip of its own anyhow. */
  #saves(session: MachineSession): boolean {
    return this.#isFar(session) || !session.hasExactVersions
  }

  /** Something that was found for this call before. */
  #held<T>(
    session: MachineSession,
    { caller }: CallOptions,
    take: (caller: Caller) => T | undefined,
  ): T | undefined {
    return caller?.phase === 'tool' && this.#saves(session) ? take(caller) : undefined
  }

  /** What SFTP told on the way to a canonical path is all that there is to tell, where there is no more. */
  #keepSeen(
    session: MachineSession,
    path: RemotePath,
    { path: canonical, attributes }: Canonical,
    caller: Caller | undefined,
  ): void {
    if (caller?.phase !== 'tool' || session.hasExactVersions) return
    const stat = attributes === undefined ? undefined : statOf(attributes)
    if (stat !== undefined) this.#known.remember(path, canonical)
    this.#handover.offer({ canonical, stat, content: undefined }, caller)
  }

  #regular(session: MachineSession, file: Shown, options: CallOptions): Promise<FileStat> {
    const around =
      options.caller?.phase === 'step' && this.#saves(session)
        ? this.#surroundings.gate(file.path)
        : undefined
    const held = this.#held(session, options, (caller) => this.#handover.takeGate(file.path, caller))
    const known = held ?? around
    return requireRegular(session, file, 'read', options.signal, known)
  }

  async #look(
    session: MachineSession,
    path: RemotePath,
    caller: Caller,
    signal: AbortSignal | undefined,
  ): Promise<Look | undefined> {
    const looking = lookByShell(session, path, this.#lookSize, signal)
    // Behind it on the way: the host looks around when the tool is done.
    this.#surroundings.freshen(session)
    const look = await looking
    if (look === undefined) return undefined
    if (look.stat !== undefined) this.#known.remember(path, look.canonical)
    if (look.stat !== undefined && look.content !== undefined) {
      this.#contents.keep(look.canonical, look.stat, look.content)
    }
    this.#handover.offer(look, caller)
    return look
  }

  /** The content that was fetched for this caller. */
  #handed(session: MachineSession, file: Shown, options: CallOptions): Buffer | undefined {
    const around = options.caller?.phase === 'step' ? this.#surroundings.at(file.path)?.stat : undefined
    if (around !== undefined) return this.#contents.get(file.path, around.version)?.content
    const caller = this.#lookingAhead(session, options)
    return caller === undefined ? undefined : this.#handover.takeContent(file.path, caller)
  }

  async #whole(
    session: MachineSession,
    file: Shown,
    maxBytes: number,
    options: CallOptions,
  ): Promise<Buffer> {
    const held = this.#handed(session, file, options)
    if (held !== undefined && held.length <= maxBytes) return held
    const stat = await this.#regular(session, file, options)
    const bytes = await readAll(session, file, stat.size, maxBytes, options.signal)
    this.#memory.remember(file.path, stat.version, [bytes])
    if (bytes.length === stat.size) this.#contents.keep(file.path, stat, bytes)
    return bytes
  }
}
