/** Where a DSH profile and the installer's own things in it are. It reads folders and changes nothing. */
import { access, constants, readdir } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, InstallError } from './failure.ts'

export const PACKAGE = 'dsh-presence'

/** Profiles that DSH makes by itself the first time they are used (host: PROFILE_TEMPLATES). */
const MADE_BY_DSH = ['web', 'headless']

export interface Profile {
  readonly name: string
  /** DSH's home. */
  readonly home: string
  readonly folder: string
  readonly manifestFile: string
  /** The user's own patches. The installer only ever reads them. */
  readonly patchFile: string
  /** Where Presence is unpacked. */
  readonly packageFolder: string
  /** The installer's own folder: the tarball in use; while it works, the journal and the backup. */
  readonly stateFolder: string
  readonly backupFolder: string
  readonly journalFile: string
  /** Presence's own data, shared by all profiles of the home. */
  readonly dataFolder: string
}

export function profileAt(home: string, name: string): Profile {
  const folder = join(home, 'profiles', name)
  const stateFolder = join(folder, '.presence')
  return {
    name,
    home,
    folder,
    manifestFile: join(folder, 'package.json'),
    patchFile: join(folder, 'cordis.patch.yml'),
    packageFolder: join(folder, 'node_modules', PACKAGE),
    stateFolder,
    backupFolder: join(stateFolder, 'backup'),
    journalFile: join(stateFolder, 'journal.json'),
    dataFolder: join(home, 'presence'),
  }
}

/**
 * `missing`: DSH will make it when asked for it.
 * @throws InstallError `no-profile` when nobody would, `not-writable`.
 */
export async function stateOf(profile: Profile, homeNamed: boolean): Promise<'there' | 'missing'> {
  if (homeNamed && !existsSync(profile.home)) {
    throw new InstallError('no-profile', `There is no folder ${profile.home}: check --dsh-home.`)
  }
  if (!existsSync(profile.manifestFile)) {
    if (MADE_BY_DSH.includes(profile.name)) return 'missing'
    const names = await profilesOf(profile.home)
    const known = names.length === 0 ? 'It has none yet.' : `It has: ${names.join(', ')}.`
    throw new InstallError(
      'no-profile',
      `${profile.home} has no profile "${profile.name}". ${known} ` +
        `DSH makes a new one by: dsh plugin --profile ${profile.name} install`,
    )
  }
  await assertWritable(profile)
  return 'there'
}

export async function profilesOf(home: string): Promise<string[]> {
  const folder = join(home, 'profiles')
  if (!existsSync(folder)) return []
  const names = (await readdir(folder)).filter((name) => name !== 'node_modules')
  return names.filter((name) => existsSync(join(folder, name, 'package.json'))).sort()
}

async function assertWritable(profile: Profile): Promise<void> {
  for (const path of [profile.folder, profile.manifestFile]) {
    try {
      await access(path, constants.W_OK)
    } catch (cause) {
      if (!['EACCES', 'EPERM', 'EROFS'].includes(codeOf(cause) ?? '')) throw cause
      throw new InstallError(
        'not-writable',
        `${path} may not be changed by this account. Nothing was done. Run the installer as the account ` +
          'that DSH runs as, or make the profile writable for it.',
        { cause },
      )
    }
  }
}
