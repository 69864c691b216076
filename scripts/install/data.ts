/** Presence's own data in DSH's home, which an uninstallation leaves alone unless it is told otherwise. */
import { readdir, rmdir } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { remove } from './durable.ts'
import { codeOf } from './failure.ts'
import type { Profile } from './profile.ts'

/**
 * Machines, workspaces and markers go. A marker is an empty folder; one that is not holds something that
 * somebody put there, and stays with all that leads to it.
 */
export async function removeData(profile: Profile): Promise<void> {
  if (!existsSync(profile.dataFolder)) return
  for (const name of await readdir(profile.dataFolder)) {
    const path = join(profile.dataFolder, name)
    if (name === 'mounts') await removeEmpty(path)
    else await remove(path)
  }
  await removeFolder(profile.dataFolder)
}

async function removeEmpty(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeEmpty(join(folder, entry.name))
  }
  await removeFolder(folder)
}

async function removeFolder(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOTEMPTY') throw error
  })
}
