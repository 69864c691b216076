/**
 * Presence in an isolated DSH home, installed as a user installs it: a packed tarball through DSH's
 * own plugin command. Also the two things of Presence's own that a start prepares: the machines file
 * and, where no page does it, the folder that stands for the remote one.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { makeDshHome, type DshHome } from '../host/dsh-home.ts'
import { pack } from '../pack.ts'
import type { Target } from './target.ts'

export async function installPresence(
  folder: string,
  profile: string,
  model: { url: string; key: string } | undefined,
): Promise<DshHome> {
  console.log('Building and packing Presence …')
  const tarball = await pack()
  const home = await makeDshHome({ folder, ...(model === undefined ? {} : { model }) })
  console.log(`Installing it into the profile "${profile}" of ${folder} …`)
  await home.addPlugin(profile, tarball)
  return home
}

/** The file holds exactly this start's machine: ports change from one start to the next. */
export async function writeMachines(home: DshHome, target: Target): Promise<void> {
  const folder = join(home.folder, 'presence')
  await mkdir(folder, { recursive: true })
  const machines = target.entry === undefined ? {} : { [target.alias]: target.entry }
  await writeFile(join(folder, 'machines.yml'), stringify(machines), { mode: 0o600 })
}

/** The local folder that stands for the target's, made when it is missing. */
export async function makeMarker(home: DshHome, target: Target): Promise<string> {
  const marker = join(home.folder, 'presence', 'mounts', target.alias, target.folder)
  await mkdir(marker, { recursive: true })
  return marker
}
