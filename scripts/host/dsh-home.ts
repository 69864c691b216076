/**
 * An isolated home of the real DSH: its folder, the environment that points DSH at it, and installing
 * a tarball into a profile as a user does. The user's own `~/.dsh` is never touched.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { program, toolEnvironment } from '../project/checkout.ts'
import { run } from '../project/children.ts'

export interface DshHome {
  /** The folder that DSH_HOME names. */
  readonly folder: string
  /** Argv that starts `dsh`, to be followed by its arguments. */
  readonly dsh: readonly string[]
  /** Environment for every `dsh` of this home. */
  readonly env: NodeJS.ProcessEnv
  /** @throws with what `dsh plugin` printed when it fails. */
  addPlugin(profile: string, tarball: string): Promise<void>
  removePlugin(profile: string, packageName: string): Promise<void>
}

export interface DshHomeOptions {
  readonly folder: string
  /** The model's address and key; absent: whatever this process's environment says. */
  readonly model?: { readonly url: string; readonly key: string }
  /** HOME of DSH and of the local commands it starts; absent: this process's own. */
  readonly userHome?: string
  /** Sandbox mode of a fresh session: `read-only`, `workspace-write` or `danger-full-access`. */
  readonly permissionMode?: string
  readonly variables?: Readonly<Record<string, string>>
}

/** Milliseconds; a package manager that downloads over a slow line needs its time. */
const INSTALL_DEADLINE_MS = 300_000

export async function makeDshHome(options: DshHomeOptions): Promise<DshHome> {
  const { folder, model } = options
  await mkdir(folder, { recursive: true })
  const env: NodeJS.ProcessEnv = {
    ...withoutDsh(toolEnvironment()),
    DSH_HOME: folder,
    DSH_TELEMETRY_DISABLED: '1',
    ...(model === undefined ? {} : { DEEPSEEK_API_KEY: model.key, DEEPSEEK_BASE_URL: model.url }),
    ...(options.userHome === undefined ? {} : { HOME: options.userHome }),
    ...(options.permissionMode === undefined ? {} : { DSH_PERMISSION_MODE: options.permissionMode }),
    ...options.variables,
  }
  const dsh = program('@deepseek-ai/dsh', 'dsh')
  const plugin = async (profile: string, ...args: readonly string[]): Promise<void> => {
    const argv = [...dsh, 'plugin', '--profile', profile, ...args]
    const outcome = await run(argv, { env, cwd: folder, timeoutMs: INSTALL_DEADLINE_MS })
    if (outcome.code !== 0) {
      const what = `dsh plugin --profile ${profile} ${args.join(' ')}`
      throw new Error(`${what} failed:\n${outcome.stdout}${outcome.stderr}`)
    }
  }
  return {
    folder,
    dsh,
    env,
    addPlugin: async (profile, tarball) => {
      // pnpm looks at every dependency, and stops at a tarball that is not there any more.
      for (const gone of await withoutTarball(join(folder, 'profiles', profile))) {
        await plugin(profile, 'remove', gone)
      }
      await plugin(profile, 'add', tarball)
    },
    removePlugin: (profile, packageName) => plugin(profile, 'remove', packageName),
  }
}

/** Packages of a profile that were installed from a tarball that has been deleted since. */
async function withoutTarball(profileFolder: string): Promise<string[]> {
  const manifestFile = join(profileFolder, 'package.json')
  if (!existsSync(manifestFile)) return []
  const { dependencies = {} } = JSON.parse(await readFile(manifestFile, 'utf8')) as {
    dependencies?: Record<string, string>
  }
  return Object.entries(dependencies)
    .filter(
      ([, spec]) =>
        spec.startsWith('file:') && !existsSync(resolve(profileFolder, spec.slice('file:'.length))),
    )
    .map(([name]) => name)
}

/** A DSH that runs around this process (an agent at work) must not lend its home or its session. */
function withoutDsh(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('DSH_')))
}
