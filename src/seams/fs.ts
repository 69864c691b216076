/**
 * `ctx.fs` for both worlds: the host's own sandboxed file system for everything local, and the machine's
 * files for paths under the mounts. This class only decides, translates and delegates.
 */
import { open } from 'node:fs/promises'
import { isAbsolute, join, resolve as resolvePath } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Context } from '@deepseek-ai/cordis'
import {
  FsError,
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
import { SandboxedFileSystem, type Config } from '@deepseek-ai/dsh-fs-sandbox'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import type {} from '@deepseek-ai/dsh-sandbox-policy'
import { PresenceError } from '../base/failure.ts'
import { containsPath } from '../base/remote-path.ts'
import { currentSession } from '../core/current-session.ts'
import { sharePresence, type Presence } from '../core/presence.ts'
import { fencedPath } from '../core/sandbox-policy.ts'
import { isPlaceKey, placeKey, placeOfKey, type Place } from '../places/place.ts'
import type { Shown } from '../remote/files/read.ts'
import type { CallOptions, WriteGuard } from '../remote/files/remote-files.ts'
import { watchPath } from '../remote/files/watch.ts'
import { inHostTerms, toFsError } from '../host/errors.ts'
import { hostMethod, type LaterFileSystem } from './facts.ts'
import { worldOf } from './world.ts'

/** Key of a path that is nowhere: absent in every respect, and equal to no file's. */
const NOWHERE = 'presence-nowhere:'

/** What is known of a session's folder while its machine cannot be asked. */
const UNREACHABLE_FOLDER = { type: 'directory', version: FsVersion('unreachable') } as const

export default class PresenceFileSystem extends SandboxedFileSystem {
  static override inject = ['sandboxPolicy']

  // No `#private` members in services: the host hands them out behind a proxy. And names that no base
  // class will have for itself, in any version.
  private readonly presence: Presence
  private readonly presenceDiffLimit: number

  constructor(ctx: Context, config: Config) {
    super(ctx, config)
    this.presence = sharePresence(ctx, 'fs')
    this.presenceDiffLimit = (config as { diffBasisMaxBytes?: number }).diffBasisMaxBytes ?? 10 * 1024 * 1024
  }

  override async resolve(path: string, opts?: { cwd?: string; signal?: AbortSignal }): Promise<FsTarget> {
    const world = this.worldOf(path, opts?.cwd)
    if (world.kind === 'local') return super.resolve(path, opts)
    if (world.kind === 'nowhere') return { targetKey: FsTargetKey(`${NOWHERE}${path}`), displayPath: path }
    const { place } = world
    return inHostTerms(async () => ({
      targetKey: FsTargetKey(
        placeKey({ machine: place.machine, path: await this.canonical(place, opts?.signal) }),
      ),
      displayPath: this.presence.mounts.format(place),
    }))
  }

  override processPath(target: FsTarget): string {
    return this.inWorld(
      target,
      (place) => this.presence.mounts.format(place),
      () => super.processPath(target),
    )
  }

  override fileUrl(target: FsTarget): string {
    return this.inWorld(
      target,
      (place) => pathToFileURL(this.presence.mounts.format(place)).href,
      () => super.fileUrl(target),
    )
  }

  override contains(parent: FsTarget, child: FsTarget): boolean {
    if (!isPlaceKey(parent.targetKey) && !isPlaceKey(child.targetKey)) return super.contains(parent, child)
    if (!isPlaceKey(parent.targetKey) || !isPlaceKey(child.targetKey)) return false
    const outer = placeOfKey(parent.targetKey)
    const inner = placeOfKey(child.targetKey)
    return outer.machine === inner.machine && containsPath(outer.path, inner.path)
  }

  override async stat(target: FsTarget, signal?: AbortSignal): Promise<FsInfo | undefined> {
    if (target.targetKey.startsWith(NOWHERE)) return undefined
    return this.inWorld(
      target,
      (place) => inHostTerms(() => this.remoteStat(place, target, signal)),
      () => super.stat(target, signal),
    )
  }

  override async lstat(
    path: string,
    opts?: { cwd?: string },
    signal?: AbortSignal,
  ): Promise<FsPathInfo | undefined> {
    const world = this.worldOf(path, opts?.cwd)
    if (world.kind === 'local') return super.lstat(path, opts, signal)
    if (world.kind === 'nowhere') return undefined
    const { place } = world
    return inHostTerms(async () => {
      const file = { path: place.path, shown: this.presence.mounts.format(place) }
      const looked = async (): Promise<FsPathInfo | undefined> => {
        const stat = await this.presence
          .files(place.machine)
          .stat(file, { ...this.options(signal), follow: false })
        if (stat === undefined) return undefined
        return { type: stat.type, size: stat.size, version: FsVersion(stat.version) }
      }
      return this.orKnownFolder(place, looked, UNREACHABLE_FOLDER)
    })
  }

  override async readText(target: FsTarget, signal?: AbortSignal): Promise<string> {
    return this.inWorld(
      target,
      (place) =>
        inHostTerms(() =>
          this.presence.files(place.machine).readText(shown(place, target), this.options(signal)),
        ),
      () => super.readText(target, signal),
    )
  }

  override streamText(target: FsTarget, signal?: AbortSignal): Promise<AsyncIterable<string>> {
    return this.inWorld(
      target,
      (place) => Promise.resolve(this.remoteStream(place, target, signal)),
      () => super.streamText(target, signal),
    )
  }

  override async readBytes(
    target: FsTarget,
    signal: AbortSignal | undefined,
    maxBytes: number,
  ): Promise<Uint8Array> {
    return this.inWorld(
      target,
      (place) =>
        inHostTerms(() =>
          this.presence.files(place.machine).readBytes(shown(place, target), maxBytes, this.options(signal)),
        ),
      () => super.readBytes(target, signal, maxBytes),
    )
  }

  /** Up to `length` bytes from `offset`: short at the end of the file, empty beyond it. */
  async readByteRange(
    target: FsTarget,
    range: { offset: number; length: number },
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    return this.inWorld(
      target,
      (place) =>
        inHostTerms(() =>
          this.presence
            .files(place.machine)
            .readRange(shown(place, target), range.offset, range.length, this.options(signal)),
        ),
      () => {
        const base = hostMethod<LaterFileSystem, 'readByteRange'>(SandboxedFileSystem, 'readByteRange')
        return base === undefined ? localByteRange(target, range) : base.call(this, target, range, signal)
      },
    )
  }

  override async listDir(target: FsTarget, signal?: AbortSignal): Promise<FsDirEntry[]> {
    return this.inWorld(
      target,
      (place) => inHostTerms(() => this.remoteList(place, target, signal)),
      () => super.listDir(target, signal),
    )
  }

  override async writeText(
    target: FsTarget,
    content: string,
    expected?: FsWriteIntent,
    signal?: AbortSignal,
    sandboxPolicy?: SandboxExecutionPolicy,
  ): Promise<FsWriteOutcome> {
    return this.inWorld(
      target,
      (place) =>
        inHostTerms(async () => {
          const file = await this.fenced(place, target, sandboxPolicy, signal)
          const outcome = await this.presence
            .files(place.machine)
            .write(file, content, guardOf(expected), this.presenceDiffLimit, signal)
          return {
            operation: outcome.created ? 'create' : 'update',
            version: FsVersion(outcome.version),
            before: outcome.before,
            after: outcome.after,
          }
        }),
      () => super.writeText(target, content, expected, signal, sandboxPolicy),
    )
  }

  override async editText(
    target: FsTarget,
    edit: FsEditRequest,
    expected?: { version: FsVersion },
    signal?: AbortSignal,
    sandboxPolicy?: SandboxExecutionPolicy,
  ): Promise<FsEditOutcome> {
    return this.inWorld(
      target,
      (place) =>
        inHostTerms(async () => {
          const file = await this.fenced(place, target, sandboxPolicy, signal)
          const { oldString, newString, replaceAll } = edit
          const asked = { oldString, newString, matches: replaceAll ? ('any' as const) : 1 }
          const outcome = await this.presence
            .files(place.machine)
            .edit(file, asked, expected?.version, signal)
          return { version: FsVersion(outcome.version), before: outcome.before ?? '', after: outcome.after }
        }),
      () => super.editText(target, edit, expected, signal, sandboxPolicy),
    )
  }

  /** Tell of changes to a remote file or folder until the signal fires. Later hosts call it. */
  async watch(
    target: FsTarget,
    changed: (error?: Error) => void,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    return this.inWorld(
      target,
      (place) =>
        inHostTerms(() =>
          watchPath(this.presence.files(place.machine), shown(place, target), changed, signal),
        ),
      () => {
        const base = hostMethod<LaterFileSystem, 'watch'>(SandboxedFileSystem, 'watch')
        if (base !== undefined) return base.call(this, target, changed, signal)
        return Promise.reject(
          new FsError('Filesystem watching is not supported by this provider.', 'FS_IO_ERROR'),
        )
      },
    )
  }

  /** The path by which a process of this world opens a host file, or undefined: a machine cannot see one. */
  processPathFromHostPath(hostPath: string): string | undefined {
    const world = this.worldOf(hostPath, undefined)
    if (world.kind !== 'local') return undefined
    const base = hostMethod<LaterFileSystem, 'processPathFromHostPath'>(
      SandboxedFileSystem,
      'processPathFromHostPath',
    )
    if (base !== undefined) return base.call(this, hostPath)
    return isAbsolute(hostPath) ? resolvePath(hostPath) : undefined
  }

  private worldOf(path: string, cwd: string | undefined): ReturnType<typeof worldOf> {
    // An empty path means nothing in any world; the base has the host's words for it.
    if (path.trim() === '') return { kind: 'local' }
    try {
      return worldOf(this.presence, path, cwd)
    } catch (error) {
      throw toFsError(error)
    }
  }

  private inWorld<T>(target: FsTarget, remote: (place: Place) => T, local: () => T): T {
    if (target.targetKey.startsWith(NOWHERE)) {
      throw new FsError(`"${target.displayPath}": not found`, 'FS_NOT_FOUND')
    }
    return isPlaceKey(target.targetKey) ? remote(placeOfKey(target.targetKey)) : local()
  }

  /** Background looks at a machine that just failed must not each wait for it again. */
  private options(signal: AbortSignal | undefined): CallOptions {
    return { signal, hurry: currentSession()?.phase === 'step' ? 'when-due' : 'now' }
  }

  private canonical(place: Place, signal: AbortSignal | undefined): Promise<Place['path']> {
    const shown = this.presence.mounts.format(place)
    const ask = (): Promise<Place['path']> =>
      this.presence.files(place.machine).canonical(place.path, { ...this.options(signal), shown })
    return this.orKnownFolder(place, ask, place.path)
  }

  private remoteStat(
    place: Place,
    target: FsTarget,
    signal: AbortSignal | undefined,
  ): Promise<FsInfo | undefined> {
    const looked = async (): Promise<FsInfo | undefined> => {
      const stat = await this.presence.files(place.machine).stat(shown(place, target), this.options(signal))
      if (stat === undefined) return undefined
      const type = stat.type === 'symlink' ? 'other' : stat.type
      return { type, size: stat.size, version: FsVersion(stat.version) }
    }
    return this.orKnownFolder(place, looked, UNREACHABLE_FOLDER)
  }

  /**
   * A session's own folder is known to be one while its machine cannot be asked: later hosts look at it
   * before every turn and would refuse even to talk otherwise.
   */
  private async orKnownFolder<T>(place: Place, ask: () => Promise<T>, known: T): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      const unreachable =
        error instanceof PresenceError &&
        error.family !== 'cancelled' &&
        this.presence.machine(place.machine).current === undefined
      if (unreachable && this.isKnownFolder(place)) return known
      throw error
    }
  }

  private isKnownFolder(place: Place): boolean {
    if (place.path === '/' || this.presence.workspaces.find(place) !== undefined) return true
    const cwd = currentSession()?.cwd
    const own = cwd === undefined ? null : this.presence.mounts.parse(cwd)
    return own !== null && own.machine === place.machine && own.path === place.path
  }

  private async remoteList(
    place: Place,
    target: FsTarget,
    signal: AbortSignal | undefined,
  ): Promise<FsDirEntry[]> {
    const entries = await this.presence.files(place.machine).list(shown(place, target), this.options(signal))
    return entries.map((entry) => ({
      name: entry.name,
      type: entry.type,
      target: {
        targetKey: FsTargetKey(placeKey({ machine: place.machine, path: entry.path })),
        displayPath: join(target.displayPath, entry.name),
      },
      ...(entry.type === 'file' ? { size: entry.size } : {}),
    }))
  }

  private async *remoteStream(
    place: Place,
    target: FsTarget,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string, void, undefined> {
    try {
      yield* this.presence.files(place.machine).streamText(shown(place, target), this.options(signal))
    } catch (error) {
      throw toFsError(error)
    }
  }

  private async fenced(
    place: Place,
    target: FsTarget,
    sandboxPolicy: SandboxExecutionPolicy | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Shown> {
    const { mode, workspaceRoot } = sandboxPolicy ?? this.ctx.sandboxPolicy.resolve()
    const policy = { mode, workspace: this.presence.mounts.placeOf(workspaceRoot) }
    const path = await fencedPath(this.presence, place, target.displayPath, policy, signal)
    return { path, shown: target.displayPath }
  }
}

function shown(place: Place, target: FsTarget): Shown {
  return { path: place.path, shown: target.displayPath }
}

function guardOf(expected: FsWriteIntent | undefined): WriteGuard {
  if (expected === undefined) return { kind: 'none' }
  return expected.kind === 'createIfAbsent'
    ? { kind: 'absent' }
    : { kind: 'version', version: expected.version }
}

async function localByteRange(
  target: FsTarget,
  range: { offset: number; length: number },
): Promise<Uint8Array> {
  const handle = await open(target.targetKey, 'r')
  try {
    const buffer = Buffer.alloc(range.length)
    const { bytesRead } = await handle.read(buffer, 0, range.length, range.offset)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}
