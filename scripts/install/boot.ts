/**
 * Starts the profile "web" once to see that it boots: in a home of its own whose profiles are the real
 * ones, so that no session, setting or workspace of the user is touched.
 */
import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startWeb } from '../host/web.ts'
import { InstallError } from './failure.ts'
import type { Profile } from './profile.ts'
import type { Programs } from './programs.ts'

/** Files of a home that decide how a profile is composed and started. */
const DECIDING = ['cordis.patch.yml', 'settings.yaml', '.env']

/** @throws InstallError `does-not-boot` with what DSH printed. */
export async function bootWeb(
  programs: Programs,
  profile: Profile,
  env: NodeJS.ProcessEnv,
  version: string,
): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'presence-boot-'))
  try {
    await symlink(join(profile.home, 'profiles'), join(home, 'profiles'), 'junction')
    for (const file of DECIDING) {
      if (existsSync(join(profile.home, file))) await copyFile(join(profile.home, file), join(home, file))
    }
    await start(programs, home, env, version)
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

async function start(
  programs: Programs,
  home: string,
  env: NodeJS.ProcessEnv,
  version: string,
): Promise<void> {
  const web = await startWeb({ folder: home, dsh: programs.dsh, env: { ...env, DSH_HOME: home } }).catch(
    (cause: unknown) => {
      throw new InstallError('does-not-boot', (cause as Error).message, { cause })
    },
  )
  try {
    const answer = await fetch(`${web.url}/api/presence/session`)
    const session = answer.ok ? ((await answer.json()) as { version?: string }) : undefined
    if (session?.version !== version) {
      const found = session?.version ?? `status ${answer.status}`
      throw new InstallError(
        'does-not-boot',
        `DSH started, but Presence ${version} did not answer in it (${found}):\n${web.output()}`,
      )
    }
  } finally {
    await web.stop()
  }
}
