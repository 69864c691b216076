/**
 * The run-time dependencies inside the tarball, so that installing it asks no registry and runs no
 * install script of theirs. What a dependency can do without (its optional native parts) stays out.
 */
import { cp, readFile } from 'node:fs/promises'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

/** Folders of a published package that nobody who runs it under Node needs. */
const NOT_NEEDED = new Set(['node_modules', 'test', 'tests', 'examples', 'browser'])

/** Declarations, and native parts that were built for the computer this runs on. */
const NOT_NEEDED_FILE = /\.(?:d\.[cm]?ts|node)$/

/**
 * Copy the dependencies of `from`'s package.json, and theirs, flat into `into/node_modules`.
 * @returns their names, for `bundledDependencies`.
 * @throws when two of them want different versions of a third: flat holds only one.
 */
export async function bundleDependencies(from: string, into: string): Promise<string[]> {
  const folders = new Map<string, string>()
  const queue = [from]
  for (let folder = queue.shift(); folder !== undefined; folder = queue.shift()) {
    for (const name of Object.keys((await manifestOf(folder)).dependencies ?? {})) {
      const found = folderOf(name, folder)
      const known = folders.get(name)
      if (known === found) continue
      if (known !== undefined) throw new Error(`${name} is needed in two versions: ${known}, ${found}`)
      folders.set(name, found)
      queue.push(found)
    }
  }
  for (const [name, folder] of folders) {
    await cp(folder, join(into, 'node_modules', name), {
      recursive: true,
      dereference: true,
      filter: (path) => path === folder || !(NOT_NEEDED.has(basename(path)) || NOT_NEEDED_FILE.test(path)),
    })
  }
  return [...folders.keys()].sort()
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Where Node would find a package from inside another, links resolved. */
function folderOf(name: string, from: string): string {
  const searched = createRequire(join(from, 'package.json')).resolve.paths(name) ?? []
  const link = searched
    .map((folder) => join(folder, name))
    .find((one) => existsSync(join(one, 'package.json')))
  if (link === undefined) throw new Error(`${name} is not installed for ${from}`)
  return realpathSync(link)
}
