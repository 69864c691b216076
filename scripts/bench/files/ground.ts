/**
 * The files that are worked on: made and checked on the server's disk from outside, past everybody who is
 * measured. Every sample is new, so that nobody has ever seen it, and goes when it has been measured.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, statfsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from '../../project/endings.ts'
import type { Entry } from './client.ts'
import { Large } from './large.ts'

/** Where there is one, a disk in memory: what a real disk takes is the same for all, and varies. */
const MEMORY = '/dev/shm'

/** What the large files take at most, twice over. */
const ROOM_BYTES = 2.5 * 2 ** 30

export interface Folder {
  readonly path: string
  /** In the order of their names, links followed. */
  readonly entries: readonly Entry[]
}

export class Ground {
  readonly folder: string
  readonly #forget: () => void
  /** Those that were made, where they are now. */
  readonly #folders = new Map<string, Folder>()
  readonly #large = new Map<number, Large>()
  #made = 0

  private constructor(folder: string) {
    this.folder = folder
    this.#forget = atTheEnd({ release: () => this.#remove() })
  }

  static async make(): Promise<Ground> {
    return new Ground(await mkdtemp(join(hasRoom(MEMORY) ? MEMORY : tmpdir(), 'presence-bench-')))
  }

  /** A path where nothing is yet. */
  path(): string {
    this.#made += 1
    return join(this.folder, `sample-${this.#made}`)
  }

  async file(content: string): Promise<string> {
    const path = this.path()
    await writeFile(path, content)
    return path
  }

  /**
   * A folder of small files under a new path, of which the last `links` are links to others, every tenth
   * of them to a folder.
   */
  async withFolderOf<T>(count: number, links: number, work: (folder: Folder) => Promise<T>): Promise<T> {
    const kind = `${count} ${links}`
    const made = this.#folders.get(kind) ?? (await this.#makeFolder(count, links))
    // To make so many files anew would take longer than to list them; by its path nobody knows it.
    const path = this.path()
    await rename(made.path, path)
    const folder = { ...made, path }
    this.#folders.set(kind, folder)
    return work(folder)
  }

  async #makeFolder(count: number, links: number): Promise<Folder> {
    const path = this.path()
    await mkdir(join(path, 'a folder'), { recursive: true })
    const entries: Entry[] = [{ name: 'a folder', type: 'directory' }]
    for (let made = 1; made < count; made += 1) {
      const name = `entry-${String(made).padStart(6, '0')}.txt`
      const link = made >= count - links
      const toFolder = link && made % 10 === 0
      entries.push({ name, type: toFolder ? 'directory' : 'file' })
      if (!link) await writeFile(join(path, name), '')
      else await symlink(toFolder ? 'a folder' : 'entry-000001.txt', join(path, name))
    }
    return { path, entries }
  }

  /** A folder with instructions for agents, and no repository in it or above. */
  async project(instructions: string): Promise<string> {
    const path = this.path()
    await mkdir(path)
    await writeFile(join(path, 'AGENTS.md'), instructions)
    return path
  }

  /** A file of so many MiB under a new path. */
  async large(mib: number): Promise<Large> {
    const made = this.#large.get(mib)
    const large = made ?? (await Large.make(mib, this.path()))
    if (made === undefined) this.#large.set(mib, large)
    else await large.moveTo(this.path())
    return large
  }

  /** Give back what the large files take. */
  async forgetLarge(): Promise<void> {
    for (const { path } of this.#large.values()) await this.remove(path)
    this.#large.clear()
  }

  async read(path: string): Promise<string> {
    return readFile(path, 'utf8')
  }

  async remove(...paths: readonly string[]): Promise<void> {
    for (const path of paths) await rm(path, { recursive: true, force: true })
  }

  async stop(): Promise<void> {
    await this.#remove()
    this.#forget()
  }

  async #remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > ROOM_BYTES
}

/** Text of so many bytes in lines, with no two alike and none to be found in any other text. */
export function textOf(bytes: number): string {
  const own = randomBytes(6).toString('hex')
  const lines: string[] = []
  for (let length = 0; length < bytes; length += 64) {
    lines.push(`${own} line ${lines.length} `.padEnd(63, 'abcdefgh ').concat('\n'))
  }
  return `${lines.join('').slice(0, bytes - 1)}\n`
}
