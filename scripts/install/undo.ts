/** What is done about a change that did not come to its end: undone before the commit, finished after. */
import { readdir } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  leaveNothing,
  removeBrought,
  restoreFiles,
  restoreManifest,
  restorePackage,
  switchOffKept,
} from './backup.ts'
import { removeData } from './data.ts'
import { remove } from './durable.ts'
import type { Journal } from './journal.ts'
import type { Profile } from './profile.ts'
import { at, take, type Step } from './steps.ts'

/** How a change ended. `without`: Presence is off, since what was there before was not whole. */
export type Ending = 'done' | 'undone' | 'without'

/** Bring an unfinished change to an end, whichever its phase allows. */
export async function bringToAnEnd(profile: Profile, journal: Journal): Promise<Ending> {
  switch (journal.entry.phase) {
    case 'preparing':
    case 'undone':
      await end(profile, journal, await tarballsOf(profile))
      return 'undone'
    case 'changing':
    case 'undoing':
      return undo(profile, journal)
    case 'finishing':
      await finish(profile, journal)
      return 'done'
  }
}

export async function finish(profile: Profile, journal: Journal): Promise<void> {
  const { stored, operation } = journal.entry
  await end(profile, journal, operation === 'install' && stored !== undefined ? [stored] : [])
}

async function undo(profile: Profile, journal: Journal): Promise<Ending> {
  const { entry } = journal
  let whole = true
  const steps: Step[] = [
    {
      name: 'undo-switch-off',
      says: 'switch Presence off',
      phase: 'undoing',
      run: () => switchOffKept(profile),
    },
    {
      name: 'undo-package',
      says: 'put the folder of the package back',
      run: () => restorePackage(profile, entry),
    },
    {
      name: 'undo-files',
      says: "put the lock file and pnpm's records back",
      run: () => restoreFiles(profile, entry),
    },
    {
      name: 'undo-manifest',
      says: 'put package.json back',
      run: async () => {
        whole = await restoreManifest(profile, entry)
      },
    },
    {
      name: 'undo-store',
      says: 'remove the tarball',
      run: () => removeBrought(profile, entry),
    },
  ]
  await take(steps, journal, { stoppable: false })
  await journal.note({ phase: 'undone' })
  await end(profile, journal, await tarballsOf(profile))
  return whole ? 'undone' : 'without'
}

/** Remove what only the change needed, last of all the journal. */
async function end(profile: Profile, journal: Journal, keep: readonly string[]): Promise<void> {
  const { entry } = journal
  const tidy: Step[] = [
    {
      name: 'tidy',
      says: 'remove the backup and older tarballs',
      run: async () => {
        if (entry.phase === 'finishing' && entry.removeData) await removeData(profile)
        await removeOthers(profile, [...keep, 'journal.json'])
      },
    },
  ]
  await take(tidy, journal, { stoppable: false })
  await at('before', 'end')
  await journal.end()
  await leaveNothing(profile)
  await at('after', 'end')
}

async function removeOthers(profile: Profile, keep: readonly string[]): Promise<void> {
  for (const name of await readdir(profile.stateFolder)) {
    if (!keep.includes(name)) await remove(join(profile.stateFolder, name))
  }
}

async function tarballsOf(profile: Profile): Promise<string[]> {
  if (!existsSync(profile.stateFolder)) return []
  return (await readdir(profile.stateFolder)).filter((name) => name.endsWith('.tgz'))
}
