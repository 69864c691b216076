/**
 * Keeping what a change may alter, and putting it back. Each call leaves a profile that boots whenever
 * it is cut off, and may be repeated: it looks at what is there, not at how far it came.
 */
import { mkdir, readdir, readFile, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { existsSync } from 'node:fs'
import { copyIfThere, isThere, move, remove, replaceFile } from './durable.ts'
import { isWhole } from './installed.ts'
import type { Entry } from './journal.ts'
import { bundlesOf, dependencyOf, parseManifest, switchedOff, type Manifest } from './manifest.ts'
import { PACKAGE, type Profile } from './profile.ts'
import { codeOf } from './failure.ts'

const MANIFEST = 'package.json'

/** Files of a profile that the package manager writes. */
export const KEPT_FILES: readonly string[] = [
  MANIFEST,
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'node_modules/.modules.yaml',
  'node_modules/.pnpm/lock.yaml',
  'node_modules/.pnpm-workspace-state-v1.json',
]

/** @returns which of the files were there. */
export async function keepFiles(profile: Profile): Promise<Record<string, boolean>> {
  await remove(profile.backupFolder)
  const there: Record<string, boolean> = {}
  for (const file of KEPT_FILES)
    there[file] = await copyIfThere(join(profile.folder, file), kept(profile, file))
  return there
}

/** The package's folder goes aside as it is; the copy that replaces it is the package manager's. */
export async function keepPackage(profile: Profile): Promise<void> {
  await move(profile.packageFolder, keptPackage(profile))
}

/** package.json as it was before the change. */
export async function keptManifest(profile: Profile): Promise<Manifest> {
  const file = kept(profile, MANIFEST)
  return parseManifest(await readFile(file, 'utf8'), file)
}

/** From here on the profile boots without Presence, whatever `node_modules` holds. */
export async function switchOffKept(profile: Profile): Promise<void> {
  await replaceFile(profile.manifestFile, switchedOff(await keptManifest(profile), { dependency: false }))
}

export async function restorePackage(profile: Profile, entry: Entry): Promise<void> {
  const aside = keptPackage(profile)
  if (!entry.hadModules) return remove(dirname(profile.packageFolder))
  const isAside = await isThere(aside)
  // Aside no more, or not yet: then what is in its place is the old one, if there was one.
  if (entry.hadPackage && !isAside) return
  await remove(profile.packageFolder)
  await removeHalves(profile)
  if (isAside) await move(aside, profile.packageFolder)
}

/** pnpm unpacks beside and renames; what it was killed over stays there. */
async function removeHalves(profile: Profile): Promise<void> {
  const modules = dirname(profile.packageFolder)
  if (!(await isThere(modules))) return
  for (const name of await readdir(modules)) {
    if (name.startsWith(`${PACKAGE}_tmp_`)) await remove(join(modules, name))
  }
}

/** All but package.json, which decides and therefore comes last. */
export async function restoreFiles(profile: Profile, entry: Entry): Promise<void> {
  for (const [file, wasThere] of Object.entries(entry.files)) {
    if (file === MANIFEST) continue
    const target = join(profile.folder, file)
    if (!wasThere) await remove(target)
    else {
      await mkdir(dirname(target), { recursive: true })
      await replaceFile(target, await readFile(kept(profile, file)))
    }
  }
}

/**
 * package.json as it was, byte for byte, if the profile boots with it.
 * @returns false when Presence stays switched off, because what it was is not whole any more.
 */
export async function restoreManifest(profile: Profile, entry: Entry): Promise<boolean> {
  const manifest = await keptManifest(profile)
  const listed = bundlesOf(manifest).includes(PACKAGE)
  const whole = !listed || (entry.restorable && (await isWhole(profile.packageFolder, profile.folder)))
  if (whole) await replaceFile(profile.manifestFile, manifest.text)
  return whole
}

/** The tarball that this change brought, unless it is also the one from before. */
export async function removeBrought(profile: Profile, entry: Entry): Promise<void> {
  if (entry.stored === undefined) return
  if (dependencyOf(await keptManifest(profile))?.endsWith(`/${entry.stored}`) === true) return
  await remove(join(profile.stateFolder, entry.stored))
}

/** Remove the state folder when it holds nothing any more. */
export async function leaveNothing(profile: Profile): Promise<void> {
  if (!existsSync(profile.stateFolder)) return
  await rmdir(profile.stateFolder).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOTEMPTY') throw error
  })
}

function kept(profile: Profile, file: string): string {
  return join(profile.backupFolder, 'files', file)
}

function keptPackage(profile: Profile): string {
  return join(profile.backupFolder, 'package')
}
