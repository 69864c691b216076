/** The two programs the installer calls, found as the user's own shell would find them. */
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, extname, join, win32 } from 'node:path'
import { run, type Outcome } from '../project/children.ts'
import { InstallError } from './failure.ts'
import type { Profile } from './profile.ts'

/** Milliseconds; a package manager may have to fetch what other plugins of the profile lack. */
const PNPM_DEADLINE_MS = 300_000
const DSH_DEADLINE_MS = 60_000

export interface Programs {
  readonly pnpm: readonly string[]
  readonly dsh: readonly string[]
}

/** @throws InstallError `no-pnpm`, `no-dsh`. */
export function findPrograms(profile: Profile, dsh: string | undefined, env: NodeJS.ProcessEnv): Programs {
  return { pnpm: findPnpm(env), dsh: findDsh(profile, dsh, env) }
}

function findPnpm(env: NodeJS.ProcessEnv): readonly string[] {
  const found = onPath('pnpm', env)
  if (found !== undefined) return callOf(found)
  throw new InstallError(
    'no-pnpm',
    'pnpm is not on PATH. DSH itself needs it for `dsh plugin`. Get it with "npm install --global pnpm" or ' +
      '"corepack enable pnpm", open a new terminal, and run the installer again. Nothing was changed.',
  )
}

function findDsh(profile: Profile, named: string | undefined, env: NodeJS.ProcessEnv): readonly string[] {
  if (named !== undefined && !existsSync(named)) {
    throw new InstallError('no-dsh', `There is no ${named}: check --dsh.`)
  }
  const found = named ?? onPath('dsh', env) ?? lastUsed(profile)
  if (found !== undefined) return callOf(found)
  throw new InstallError(
    'no-dsh',
    'DSH was not found: "dsh" is not on PATH, and no DSH has used this home yet. Say where it is with ' +
      '--dsh. Nothing was changed.',
  )
}

/** DSH links its own installation into the home whenever it starts (host: healProfilesModuleFallback). */
function lastUsed(profile: Profile): string | undefined {
  const folder = join(profile.home, 'profiles', 'node_modules', '@deepseek-ai', 'dsh')
  const manifestFile = join(folder, 'package.json')
  if (!existsSync(manifestFile)) return undefined
  const { bin } = JSON.parse(readFileSync(manifestFile, 'utf8')) as { bin?: { dsh?: string } }
  return bin?.dsh === undefined ? undefined : join(folder, bin.dsh)
}

function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const names = process.platform === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name]
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((one) => join(folder, one))).find((file) => existsSync(file))
}

/** Scripts go through this process's Node, Windows command files through their shell. */
function callOf(file: string): readonly string[] {
  const kind = extname(file).toLowerCase()
  if (['.js', '.mjs', '.cjs'].includes(kind)) return [process.execPath, file]
  if (kind !== '.cmd') return [file]
  // By name: their shell does not take a quoted path and further words together.
  return ['cmd.exe', '/d', '/s', '/c', win32.basename(file, '.cmd')]
}

/**
 * Let the package manager work in the profile. It asks nobody: where it would have to, it gives up.
 * @throws InstallError `package-manager` with what it printed.
 */
export async function callPnpm(
  programs: Programs,
  profile: Profile,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const outcome = await run([...programs.pnpm, ...args], {
    cwd: profile.folder,
    env: { ...withNode(env), npm_config_update_notifier: 'false' },
    timeoutMs: PNPM_DEADLINE_MS,
  })
  if (outcome.code === 0) return
  const output = `${outcome.stdout}${outcome.stderr}`.trim()
  throw new InstallError(
    'package-manager',
    `"pnpm ${args.join(' ')}" failed in ${profile.folder} (${endOf(outcome)}):\n${output}\n` +
      'The bundle itself needs no registry. What is missing belongs to another plugin of this profile, or ' +
      'the store of pnpm is damaged or not writable.',
  )
}

/** @throws InstallError `no-dsh` when it cannot be started at all. */
export async function callDsh(
  programs: Programs,
  profile: Profile,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  try {
    return await run([...programs.dsh, ...args], {
      cwd: profile.home,
      env: { ...withNode(env), DSH_HOME: profile.home },
      timeoutMs: DSH_DEADLINE_MS,
    })
  } catch (cause) {
    throw new InstallError('no-dsh', `DSH cannot be asked: ${(cause as Error).message}`, { cause })
  }
}

/** Programs that are scripts themselves look up `node`. */
function withNode(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const folders = [env['PATH'] ?? env['Path'] ?? '', dirname(process.execPath)]
  const path = folders.filter((folder) => folder !== '').join(delimiter)
  return process.platform === 'win32' ? env : { ...env, PATH: path }
}

export function endOf(outcome: Outcome): string {
  return outcome.signal ?? `exit code ${String(outcome.code)}`
}
