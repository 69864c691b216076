/**
 * Our own files on one server, by the calls that the host's tools make one after another (`read`, `write`
 * and `edit` of dsh-tool-fs, the listing of `str_replace_editor`), on behalf of a session whose folder is
 * on that server.
 */
import { FsTargetKey, type FsTarget, type FsVersion } from '@deepseek-ai/dsh-fs'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { onBehalfOf } from '../../../src/core/current-session.ts'
import { placeKey } from '../../../src/places/place.ts'
import type { Client, Entry } from './client.ts'
import { probeTurn } from './probing.ts'
import type { Provider } from './provider.ts'

/** From this size on the host's `read` streams. */
const STREAM_FROM_BYTES = 10 * 1024 * 1024

type Call<T> = (fs: Provider['fs'], path: string, signal: AbortSignal) => Promise<T>

export class OurFiles implements Client {
  readonly who: string
  readonly #provider: Provider
  readonly #server: string
  /** The session's folder, in the host's spelling. */
  readonly #cwd: string
  readonly #policy: SandboxExecutionPolicy
  /** What the session has seen of its files: the host keeps that for its guards. */
  readonly #observed = new Map<string, FsVersion>()

  /** @param folder - the session's folder on the server. */
  constructor(provider: Provider, server: string, folder: string, who: string) {
    this.who = who
    this.#provider = provider
    this.#server = server
    this.#cwd = provider.mount(server, folder)
    this.#policy = { mode: 'workspace-write', workspaceRoot: this.#cwd }
  }

  /** Connect, as happens when a session is opened. */
  async open(): Promise<void> {
    await this.#provider.presence.machine(this.#server).session()
  }

  async know(file: string): Promise<void> {
    await this.read(file)
  }

  stat(file: string): Promise<number> {
    return this.#tool(file, async (fs, path, signal) => {
      // As it comes from a listing: nobody has resolved it.
      return (await fs.stat(this.#target(file, path), signal))?.size ?? -1
    })
  }

  lstat(file: string): Promise<number> {
    return this.#tool(file, async (fs, path, signal) => (await fs.lstat(path, {}, signal))?.size ?? -1)
  }

  realpath(file: string): Promise<string> {
    return this.#tool(file, async (fs, path, signal) => {
      const { targetKey } = await fs.resolve(path, { cwd: this.#cwd, signal })
      return targetKey.slice(targetKey.indexOf('/', 'presence://'.length))
    })
  }

  read(file: string): Promise<Buffer> {
    return this.#tool(file, async (fs, path, signal) => {
      const target = await fs.resolve(path, { cwd: this.#cwd, signal })
      const info = await fs.stat(target, signal)
      if (info?.type !== 'file') throw new Error(`${file} is no file to us`)
      const streams = info.size === undefined || info.size >= STREAM_FROM_BYTES
      const parts = streams ? await fs.streamText(target, signal) : [await fs.readText(target, signal)]
      const read: string[] = []
      for await (const part of parts) read.push(part)
      this.#observed.set(target.targetKey, info.version)
      return Buffer.from(read.join(''))
    })
  }

  write(file: string, content: string): Promise<void> {
    return this.#changingTool(file, async (fs, path, signal) => {
      const target = await fs.resolve(path, { cwd: this.#cwd, signal })
      const version = this.#observed.get(target.targetKey)
      const intent = version === undefined ? ({ kind: 'createIfAbsent' } as const) : replacing(version)
      const outcome = await fs.writeText(target, content, intent, signal, this.#policy)
      this.#observed.set(target.targetKey, outcome.version)
    })
  }

  edit(file: string, before: string, after: string): Promise<void> {
    return this.#changingTool(file, async (fs, path, signal) => {
      const target = await fs.resolve(path, { cwd: this.#cwd, signal })
      const version = this.#observed.get(target.targetKey)
      if (version === undefined) throw new Error(`${file} has not been read`)
      const edit = { oldString: before, newString: after, replaceAll: false }
      const outcome = await fs.editText(target, edit, { version }, signal, this.#policy)
      this.#observed.set(target.targetKey, outcome.version)
    })
  }

  list(folder: string): Promise<Entry[]> {
    return this.#tool(folder, async (fs, path, signal) => {
      const target = await fs.resolve(path, { cwd: this.#cwd, signal })
      if ((await fs.stat(target, signal))?.type !== 'directory')
        throw new Error(`${folder} is no folder to us`)
      const entries = await fs.listDir(target, signal)
      return entries.map(({ name, type }) => ({ name, type: type === 'other' ? undefined : type }))
    })
  }

  /** As the watcher of a machine looks, round after round. */
  async poll(files: readonly string[]): Promise<number> {
    const seen = await this.#provider.presence.files(this.#server).observe(files.map(parseRemotePath))
    return seen.filter(({ kind }) => kind !== 'absent').length
  }

  /** Through the host's `read`, which streams what is large. */
  pull(file: string): Promise<AsyncIterable<string>> {
    return this.#tool(file, async (fs, path, signal) => {
      const target = await fs.resolve(path, { cwd: this.#cwd, signal })
      if ((await fs.stat(target, signal))?.type !== 'file') throw new Error(`${file} is no file to us`)
      return fs.streamText(target, signal)
    })
  }

  push(_from: string, file: string, text: string): Promise<void> {
    return this.write(file, text)
  }

  async probe(folder: string, between: () => Promise<void>): Promise<readonly string[]> {
    const cwd = this.#path(folder)
    const { root, texts } = await probeTurn(this.#provider, { cwd, dshHome: this.#provider.home }, between)
    if (root !== cwd) throw new Error(`${root} was taken for the project of ${cwd}`)
    return texts
  }

  async stop(): Promise<void> {}

  #changingTool<T>(file: string, call: Call<T>): Promise<T> {
    return this.#tool(file, call, true)
  }

  /** A call of the model's, with the path as it would name it; `changes`: by a tool that does nothing else. */
  #tool<T>(file: string, call: Call<T>, changes = false): Promise<T> {
    const path = this.#path(file)
    const session = { cwd: this.#cwd, phase: 'tool', named: [path], changes } as const
    return onBehalfOf(session, () => call(this.#provider.fs, path, new AbortController().signal))
  }

  #path(file: string): string {
    return this.#provider.mount(this.#server, file)
  }

  #target(file: string, path: string): FsTarget {
    const place = { machine: this.#server, path: parseRemotePath(file) }
    return { targetKey: FsTargetKey(placeKey(place)), displayPath: path }
  }
}

function replacing(version: FsVersion): { readonly kind: 'replaceIfVersion'; readonly version: FsVersion } {
  return { kind: 'replaceIfVersion', version }
}
