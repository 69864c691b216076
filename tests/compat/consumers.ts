/**
 * How later hosts use the file system, step by step: their file tree, and the look at a session's folder
 * before every turn. Those hosts could not be installed; the steps are those of their sources.
 */
import { posix, win32 } from 'node:path'
import type { FsInfo, FsPathInfo, FsTarget, FsVersion } from '@deepseek-ai/dsh-fs'
import type PresenceFileSystem from '../../src/seams/fs.ts'

export interface Listing {
  /** The folder's path from the workspace, with `/`; empty for the workspace itself. */
  readonly path: string
  readonly entries: readonly { readonly name: string; readonly type: string }[]
}

export interface Located {
  readonly absolutePath: string
  readonly version: FsVersion
  readonly target: FsTarget
}

/** The file tree of one session. */
export class FileTree {
  readonly #fs: PresenceFileSystem
  readonly #root: string
  readonly #signal = new AbortController().signal

  constructor(fs: PresenceFileSystem, root: string) {
    this.#fs = fs
    this.#root = root
  }

  /** The path that the page makes of a folder and a name in it. */
  static below(parent: string, name: string): string {
    return `${parent.replace(/[/\\]+$/, '')}/${name}`
  }

  async list(path: string): Promise<Listing> {
    const { root, entry } = await this.#inspect(path)
    if (entry.type !== 'directory' && entry.type !== 'symlink')
      throw new Error(`not-directory: ${entry.type}`)
    const target = await this.#fs.resolve(path, { cwd: this.#root, signal: this.#signal })
    if (!this.#fs.contains(root, target)) throw new Error('outside-workspace')
    if (entry.type === 'symlink' && (await this.#fs.stat(target, this.#signal))?.type !== 'directory')
      throw new Error('not-directory: symlink')
    const children = await this.#fs.listDir(target, this.#signal)
    return {
      path: pathBelow(this.#fs.fileUrl(root), this.#fs.fileUrl(target)),
      entries: children.map(({ name, type }) => ({ name, type })),
    }
  }

  async read(path: string): Promise<string> {
    const { target } = await this.locate(path)
    let text = ''
    for await (const chunk of await this.#fs.streamText(target, this.#signal)) text += chunk
    return text
  }

  async readBytes(path: string, range?: { offset: number; length: number }): Promise<string> {
    const { target } = await this.locate(path)
    const bytes =
      range === undefined
        ? await this.#fs.readBytes(target, this.#signal, 1024 * 1024)
        : await this.#fs.readByteRange(target, range, this.#signal)
    return Buffer.from(bytes).toString()
  }

  /** A path that a file names, such as a picture in a page. */
  async related(baseFile: string, relative: string): Promise<string> {
    const { absolutePath } = await this.locate(baseFile)
    const paths = absolutePath.startsWith('/') ? posix : win32
    return paths.resolve(paths.dirname(absolutePath), relative)
  }

  async locate(path: string): Promise<Located> {
    const { entry } = await this.#inspect(path)
    if (entry.type !== 'file') throw new Error(`not-regular-file: ${entry.type}`)
    const target = await this.#fs.resolve(path, { cwd: this.#root, signal: this.#signal })
    const info = await this.#fs.stat(target, this.#signal)
    if (info?.type !== 'file') throw new Error('not-found')
    return { absolutePath: this.#fs.processPath(target), version: info.version, target }
  }

  /** Follow changes. `changed` gets what the target is then; undefined when it is gone. */
  async follow(path: string, changed: (info: FsInfo | undefined) => void): Promise<() => Promise<void>> {
    const root = await this.#fs.resolve(this.#root, { signal: this.#signal })
    const target = await this.#fs.resolve(path, { cwd: this.#root, signal: this.#signal })
    const info = await this.#fs.stat(target, this.#signal)
    if (info?.type === 'directory' && !this.#fs.contains(root, target)) throw new Error('outside-workspace')
    return this.#fs.watch(target, () => void this.#fs.stat(target, this.#signal).then(changed), this.#signal)
  }

  async #inspect(path: string): Promise<{ root: FsTarget; entry: FsPathInfo }> {
    const root = await this.#fs.resolve(this.#root, { signal: this.#signal })
    const entry = await this.#fs.lstat(path, { cwd: this.#root }, this.#signal)
    if (entry === undefined) throw new Error('not-found')
    return { root, entry }
  }
}

function pathBelow(rootUrl: string, targetUrl: string): string {
  const root = new URL(rootUrl).pathname.replace(/\/+$/, '')
  const target = new URL(targetUrl).pathname
  if (target === root) return ''
  return target
    .slice(root.length + 1)
    .split('/')
    .map(decodeURIComponent)
    .join('/')
}

/** The working directory of one session: checked before every turn, and changed by the model. */
export class WorkingDirectory {
  readonly #fs: PresenceFileSystem
  readonly #original: string
  #current: string

  constructor(fs: PresenceFileSystem, original: string) {
    this.#fs = fs
    this.#original = original
    this.#current = original
  }

  /** @throws when neither the current nor the original folder is one: the turn is then refused. */
  async ensure(): Promise<string> {
    const { signal } = new AbortController()
    const target = await this.#fs.resolve(this.#current, { signal })
    if ((await this.#fs.stat(target, signal))?.type !== 'directory')
      this.#current = await this.#directory(this.#original, this.#original)
    return this.#current
  }

  async set(path: string): Promise<string> {
    this.#current = await this.#directory(path, this.#current)
    return this.#current
  }

  async #directory(path: string, cwd: string): Promise<string> {
    const { signal } = new AbortController()
    const target = await this.#fs.resolve(path, { cwd, signal })
    if ((await this.#fs.stat(target, signal))?.type !== 'directory')
      throw new Error(`directory does not exist: ${path}`)
    return this.#fs.processPath(target)
  }
}
