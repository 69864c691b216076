/** What is installed of Presence in a profile now. It reads files and changes nothing. */
import { existsSync } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { modeOf } from './bundle.ts'
import { codeOf } from './failure.ts'
import { bundlesOf, dependencyOf, parseManifest, type Manifest } from './manifest.ts'
import type { Mode } from './options.ts'
import { PACKAGE, type Profile } from './profile.ts'

export interface Installed {
  readonly manifest: Manifest
  /** It is one of the profile's layers. */
  readonly listed: boolean
  /** What the package manager was told; undefined: it knows nothing of it. */
  readonly spec: string | undefined
  /** The package's folder, or a link, is there. */
  readonly folder: 'folder' | 'link' | 'none'
  readonly version: string | undefined
  readonly mode: Mode | undefined
  /** All that the package needs at run time is there. */
  readonly whole: boolean
}

interface PackageManifest {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly dsh?: { readonly bundle?: { readonly patch?: string } }
}

export async function lookAt(profile: Profile): Promise<Installed> {
  const manifest = parseManifest(await readFile(profile.manifestFile, 'utf8'), profile.manifestFile)
  const folder = await kindOf(profile.packageFolder)
  const packed = folder === 'none' ? undefined : await packageManifest(profile.packageFolder)
  return {
    manifest,
    listed: bundlesOf(manifest).includes(PACKAGE),
    spec: dependencyOf(manifest),
    folder,
    version: packed?.version,
    mode: packed === undefined ? undefined : modeOf(packed),
    whole: folder === 'folder' && (await isWhole(profile.packageFolder, profile.folder)),
  }
}

/** True when a package and all it depends on can be found from its folder, within `boundary`. */
export async function isWhole(packageFolder: string, boundary: string): Promise<boolean> {
  const seen = new Set<string>()
  const queue = [packageFolder]
  for (let folder = queue.shift(); folder !== undefined; folder = queue.shift()) {
    if (seen.has(folder)) continue
    seen.add(folder)
    const manifest = await packageManifest(folder)
    if (manifest === undefined) return false
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const found = nearest(name, folder, boundary)
      if (found === undefined) return false
      queue.push(found)
    }
  }
  return true
}

/** As Node looks for a package: in the folder's `node_modules`, then its parents'. */
function nearest(name: string, from: string, boundary: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return candidate
    if (folder === boundary || folder === dirname(folder)) return undefined
  }
}

async function kindOf(path: string): Promise<Installed['folder']> {
  try {
    return (await lstat(path)).isSymbolicLink() ? 'link' : 'folder'
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return 'none'
    throw error
  }
}

/** Undefined when there is none, or only a part of one. */
async function packageManifest(folder: string): Promise<PackageManifest | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as PackageManifest
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}
