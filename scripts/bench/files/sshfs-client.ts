/** The server's files mounted by sshfs with its own settings, used by this process as any local file. */
import { existsSync } from 'node:fs'
import { lstat, mkdir, open, readFile, readdir, realpath, rename, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { run, startChild, type Child } from '../../project/children.ts'
import { atTheEnd } from '../../project/endings.ts'
import { findProgram } from '../../project/programs.ts'
import type { BenchServer } from '../server.ts'
import type { Client, Entry } from './client.ts'
import { Missing } from './missing.ts'

const MOUNTING_MS = 20_000

/**
 * @param folder - of the server; only what is below it is mounted.
 * @throws Missing.
 */
export async function startSshfs(server: BenchServer, folder: string): Promise<Client> {
  for (const program of ['sshfs', 'fusermount3']) {
    if (findProgram(program) === undefined) throw new Missing('sshfs', `there is no ${program} program`)
  }
  if (!existsSync('/dev/fuse')) throw new Missing('sshfs', 'there is no /dev/fuse')
  const mount = join(server.folder, 'mount')
  await mkdir(mount)
  const argv = ['sshfs', '-f', '-F', server.sshConfigFile, `${server.alias}:${folder}`, mount]
  const child = await startChild(argv)
  const mounted = new Mounted(child, folder, mount)
  await mounted.begin()
  return mounted
}

class Mounted implements Client {
  readonly who = 'sshfs'
  readonly note = 'cold for each file'
  readonly #child: Child
  readonly #folder: string
  readonly #mount: string
  readonly #forget: () => void

  constructor(child: Child, folder: string, mount: string) {
    this.#child = child
    this.#folder = folder
    this.#mount = mount
    this.#forget = atTheEnd({ release: () => this.#unmount() })
  }

  async begin(): Promise<void> {
    const outside = (await stat(join(this.#mount, '..'))).dev
    const until = Date.now() + MOUNTING_MS
    let ended = false
    void this.#child.ended.then(() => (ended = true))
    while ((await stat(this.#mount)).dev === outside) {
      if (!ended && Date.now() < until) await new Promise((resume) => setTimeout(resume, 20))
      else {
        await this.stop()
        throw new Missing('sshfs', 'it cannot mount on this computer')
      }
    }
  }

  async stat(file: string): Promise<number> {
    return (await stat(this.#path(file))).size
  }

  async lstat(file: string): Promise<number> {
    return (await lstat(this.#path(file))).size
  }

  async realpath(file: string): Promise<string> {
    return this.#folder + (await realpath(this.#path(file))).slice((await realpath(this.#mount)).length)
  }

  read(file: string): Promise<Buffer> {
    return readFile(this.#path(file))
  }

  async write(file: string, content: string): Promise<void> {
    const path = this.#path(file)
    const { mode } = await stat(path)
    const handle = await open(`${path}.tmp`, 'wx', mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(`${path}.tmp`, path)
    await stat(path)
  }

  async edit(file: string, before: string, after: string): Promise<void> {
    await this.write(file, (await this.read(file)).toString('utf8').replace(before, after))
  }

  async list(folder: string): Promise<Entry[]> {
    const path = this.#path(folder)
    const entries = await readdir(path, { withFileTypes: true })
    return Promise.all(
      entries.map(async (entry) => {
        const followed = entry.isSymbolicLink() ? await stat(join(path, entry.name)) : entry
        return { name: entry.name, type: followed.isDirectory() ? 'directory' : 'file' } as const
      }),
    )
  }

  async pull(file: string, into: string): Promise<void> {
    await copy(this.#path(file), into)
  }

  async push(from: string, file: string): Promise<void> {
    await copy(from, this.#path(file))
  }

  async stop(): Promise<void> {
    await this.#unmount()
    this.#forget()
  }

  /** What is still in use must not hang us: it is taken away lazily then. */
  async #unmount(): Promise<void> {
    if ((await run(['fusermount3', '-u', this.#mount])).code !== 0) {
      await run(['fusermount3', '-u', '-z', this.#mount])
    }
    await this.#child.stop()
    await rmdir(this.#mount)
  }

  #path(file: string): string {
    return this.#mount + file.slice(this.#folder.length)
  }
}

async function copy(from: string, to: string): Promise<void> {
  const { code, stderr } = await run(['cp', from, to])
  if (code !== 0) throw new Error(`cp ${from} ${to}: ${stderr.trim()}`)
}
