/**
 * `ctx.fs` for both worlds: the host's own sandboxed file system for everything local, and the machine's
 * files for paths under the mounts. This class only decides and delegates.
 */
import { open } from 'node:fs/promises'
import { isAbsolute, resolve as resolvePath } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Context } from '@deepseek-ai/cordis'
import {
  FsError,
  FsTargetKey,
  type FsDirEntry,
  type FsEditOutcome,
  type FsEditRequest,
  type FsInfo,
  type FsPathInfo,
  type FsTarget,
  type FsVersion,
  type FsWriteIntent,
  type FsWriteOutcome,
} from '@deepseek-ai/dsh-fs'
import { SandboxedFileSystem, type Config } from '@deepseek-ai/dsh-fs-sandbox'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import type {} from '@deepseek-ai/dsh-sandbox-policy'
import { containsPath } from '../base/remote-path.ts'
import { sharePresence, type Presence } from '../core/presence.ts'
import type { SessionPolicy } from '../core/sandbox-policy.ts'
import { isPlaceKey, placeOfKey, type Place } from '../places/place.ts'
import { toFsError } from '../host/errors.ts'
import { hostMethod, type LaterFileSystem } from './facts.ts'
import { RemoteFileSystem } from './remote-fs.ts'
import { refuseMarker, worldOf } from './world.ts'

/** Key of a path that is nowhere: absent in every respect, and equal to no file's. */
const NOWHERE = 'presence-nowhere:'

const DEFAULT_DIFF_LIMIT = 10 * 1024 * 1024

export default class PresenceFileSystem extends SandboxedFileSystem {
  static override inject = ['sandboxPolicy']

  // No `#private` members in services: the host hands them out behind a proxy. And names that no base
  // class will have for itself, in any version.
  private readonly presence: Presence
  private readonly presenceRemote: RemoteFileSystem

  constructor(ctx: Context, config: Config) {
    super(ctx, config)
    this.presence = sharePresence(ctx, 'fs')
    const diffLimit = (config as { diffBasisMaxBytes?: number }).diffBasisMaxBytes ?? DEFAULT_DIFF_LIMIT
    this.presenceRemote = new RemoteFileSystem(this.presence, diffLimit)
  }

  override async resolve(path: string, opts?: { cwd?: string; signal?: AbortSignal }): Promise<FsTarget> {
    const world = this.presenceWorld(path, opts?.cwd)
    if (world.kind === 'local') {
      const target = await super.resolve(path, opts)
      this.presenceRefuseMarker(path, target)
      return target
    }
    if (world.kind === 'nowhere') return { targetKey: FsTargetKey(`${NOWHERE}${path}`), displayPath: path }
    return this.presenceRemote.resolve(world.place, opts?.signal)
  }

  override processPath(target: FsTarget): string {
    return this.presenceIn(
      target,
      (remote, place) => remote.format(place),
      () => super.processPath(target),
    )
  }

  override fileUrl(target: FsTarget): string {
    return this.presenceIn(
      target,
      (remote, place) => fileUrlOf(remote.format(place)),
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
    return this.presenceIn(
      target,
      (remote, place) => remote.stat(place, target, signal),
      () => super.stat(target, signal),
    )
  }

  override async lstat(
    path: string,
    opts?: { cwd?: string },
    signal?: AbortSignal,
  ): Promise<FsPathInfo | undefined> {
    const world = this.presenceWorld(path, opts?.cwd)
    if (world.kind === 'local') return super.lstat(path, opts, signal)
    if (world.kind === 'nowhere') return undefined
    return this.presenceRemote.lstat(world.place, signal)
  }

  override async readText(target: FsTarget, signal?: AbortSignal): Promise<string> {
    return this.presenceIn(
      target,
      (remote, place) => remote.readText(place, target, signal),
      () => super.readText(target, signal),
    )
  }

  override streamText(target: FsTarget, signal?: AbortSignal): Promise<AsyncIterable<string>> {
    return this.presenceIn(
      target,
      (remote, place) => Promise.resolve(remote.streamText(place, target, signal)),
      () => super.streamText(target, signal),
    )
  }

  override async readBytes(
    target: FsTarget,
    signal: AbortSignal | undefined,
    maxBytes: number,
  ): Promise<Uint8Array> {
    return this.presenceIn(
      target,
      (remote, place) => remote.readBytes(place, target, maxBytes, signal),
      () => super.readBytes(target, signal, maxBytes),
    )
  }

  /** Up to `length` bytes from `offset`: short at the end of the file, empty beyond it. */
  async readByteRange(
    target: FsTarget,
    range: { offset: number; length: number },
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    return this.presenceIn(
      target,
      (remote, place) => remote.readByteRange(place, target, range, signal),
      () => {
        const base = hostMethod<LaterFileSystem, 'readByteRange'>(SandboxedFileSystem, 'readByteRange')
        return base === undefined ? localByteRange(target, range) : base.call(this, target, range, signal)
      },
    )
  }

  override async listDir(target: FsTarget, signal?: AbortSignal): Promise<FsDirEntry[]> {
    return this.presenceIn(
      target,
      (remote, place) => remote.listDir(place, target, signal),
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
    return this.presenceIn(
      target,
      (remote, place) =>
        remote.writeText(place, target, content, expected, this.presencePolicy(sandboxPolicy), signal),
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
    return this.presenceIn(
      target,
      (remote, place) =>
        remote.editText(place, target, edit, expected, this.presencePolicy(sandboxPolicy), signal),
      () => super.editText(target, edit, expected, signal, sandboxPolicy),
    )
  }

  /**
   * Tell of changes to a file, a folder's direct entries, or what is not there yet, until the returned function
   * is called; the signal cancels the beginning only. Later hosts call it.
   */
  async watch(
    target: FsTarget,
    changed: (error?: Error) => void,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    return this.presenceIn(
      target,
      (remote, place) => remote.watch(place, target, changed, signal),
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
    const world = this.presenceWorld(hostPath, undefined)
    if (world.kind !== 'local') return undefined
    const base = hostMethod<LaterFileSystem, 'processPathFromHostPath'>(
      SandboxedFileSystem,
      'processPathFromHostPath',
    )
    if (base !== undefined) return base.call(this, hostPath)
    return isAbsolute(hostPath) ? resolvePath(hostPath) : undefined
  }

  private presenceWorld(path: string, cwd: string | undefined): ReturnType<typeof worldOf> {
    // An empty path means nothing in any world; the base has the host's words for it.
    if (path.trim() === '') return { kind: 'local' }
    try {
      return worldOf(this.presence, path, cwd)
    } catch (error) {
      throw toFsError(error)
    }
  }

  private presenceRefuseMarker(path: string, { targetKey }: FsTarget): void {
    try {
      refuseMarker(this.presence, path, targetKey)
    } catch (error) {
      throw toFsError(error)
    }
  }

  private presenceIn<T>(
    target: FsTarget,
    remote: (remote: RemoteFileSystem, place: Place) => T,
    local: () => T,
  ): T {
    if (target.targetKey.startsWith(NOWHERE)) {
      throw new FsError(`"${target.displayPath}": not found`, 'FS_NOT_FOUND')
    }
    return isPlaceKey(target.targetKey) ? remote(this.presenceRemote, placeOfKey(target.targetKey)) : local()
  }

  private presencePolicy(given: SandboxExecutionPolicy | undefined): SessionPolicy {
    const { mode, workspaceRoot } = given ?? this.ctx.sandboxPolicy.resolve()
    try {
      return { mode, workspace: this.presence.mounts.placeOf(workspaceRoot) }
    } catch (error) {
      throw toFsError(error)
    }
  }
}

/** URLs lose spaces and control characters at their very end, and a name may end with one. */
function fileUrlOf(path: string): string {
  const end = '/x'
  return pathToFileURL(`${path}${end}`).href.slice(0, -end.length)
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
