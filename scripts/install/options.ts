/**
 * What the installer can be told. Windows spells options `-DshHome`, POSIX `--dsh-home`; both mean the
 * same everywhere, and case does not matter.
 */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { InstallError } from './failure.ts'

/** `fs`: the host's file system, commands and sandbox too. `tools`: only the row `presence`. */
export type Mode = 'fs' | 'tools'

export interface Options {
  readonly operation: 'install' | 'uninstall' | 'recover'
  /** Undefined: as it is installed now, otherwise `fs`. */
  readonly mode: Mode | undefined
  readonly profile: string
  /** Absolute. */
  readonly dshHome: string
  /** Somebody named the home: then it must be there. */
  readonly dshHomeNamed: boolean
  readonly tarball: string | undefined
  /** The `dsh` program to ask; undefined: the one on PATH, or the one that last ran with this home. */
  readonly dsh: string | undefined
  readonly verify: 'composition' | 'boot'
  readonly whatIf: boolean
  readonly force: boolean
  readonly removeData: boolean
}

export const USAGE = `install-presence [options]        (Windows spelling: -Mode, -DshHome, …)

  installs Presence into a DSH profile, or upgrades what is there

  --mode fs|tools    fs: a remote folder is a full workspace (the default of a first installation)
                     tools: adds the row "presence" alone, the host's services stay as they are
  --profile NAME     the profile (default: web)
  --dsh-home FOLDER  DSH's home (default: DSH_HOME, otherwise ~/.dsh)
  --tarball FILE     the packed bundle (default: the newest beside this program; in a checkout: a new one)
  --uninstall        takes Presence out; $DSH_HOME/presence stays
  --remove-data      with --uninstall: removes $DSH_HOME/presence as well
  --recover          only finishes or undoes what an interrupted run left
  --verify boot      starts the profile "web" briefly on a free port at the end
  --dsh PROGRAM      the dsh to ask (default: the one on PATH)
  --what-if          says what would be done and changes nothing
  --force            goes on although DSH is running with this profile
  --help             this text`

const SWITCHES = ['uninstall', 'removedata', 'recover', 'whatif', 'force', 'help'] as const
const VALUES = ['mode', 'profile', 'dshhome', 'tarball', 'verify', 'dsh'] as const

type Switch = (typeof SWITCHES)[number]
type Value = (typeof VALUES)[number]

/** @throws InstallError `usage`. Undefined: only the usage is wanted. */
export function parseOptions(argv: readonly string[], env: NodeJS.ProcessEnv): Options | undefined {
  const { switches, values } = readArguments(argv)
  if (switches.has('help')) return undefined
  const operations = (['uninstall', 'recover'] as const).filter((one) => switches.has(one))
  if (operations.length > 1) throw usage('--uninstall and --recover exclude each other.')
  if (switches.has('removedata') && !switches.has('uninstall')) {
    throw usage('--remove-data belongs to --uninstall.')
  }
  const profile = values.get('profile') ?? 'web'
  // The names that DSH itself takes for a profile (host: resolveProfileDir).
  if (/[/\\]/.test(profile) || ['', '.', '..', 'node_modules'].includes(profile)) {
    throw usage(`"${profile}" is no name of a profile.`)
  }
  const named = values.get('dshhome')
  return {
    operation: operations[0] ?? 'install',
    mode: oneOf('mode', values.get('mode'), ['fs', 'tools']),
    profile,
    dshHome: homeFolder(named, env),
    dshHomeNamed: named !== undefined,
    tarball: mapped(values.get('tarball'), (file) => resolve(file)),
    dsh: mapped(values.get('dsh'), (file) => resolve(file)),
    verify: oneOf('verify', values.get('verify'), ['composition', 'boot']) ?? 'composition',
    whatIf: switches.has('whatif'),
    force: switches.has('force'),
    removeData: switches.has('removedata'),
  }
}

function readArguments(argv: readonly string[]): { switches: Set<Switch>; values: Map<Value, string> } {
  const switches = new Set<Switch>()
  const values = new Map<Value, string>()
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    // PowerShell passes `-Mode:fs` on as `-Mode:` and `fs`.
    const [, spelled = '', joined] = /^--?([a-z?-]+)(?:[:=](.*))?$/i.exec(word) ?? []
    const name = spelled.toLowerCase().replaceAll('-', '')
    if (name === 'h' || name === '?') switches.add('help')
    else if (isSwitch(name) && joined === undefined) switches.add(name)
    else if (isValue(name)) {
      const value = joined === undefined || joined === '' ? rest.shift() : joined
      if (value === undefined || value === '') throw usage(`${word} needs a value.`)
      values.set(name, value)
    } else throw usage(`"${word}" is not understood.`)
  }
  return { switches, values }
}

function isSwitch(name: string): name is Switch {
  return (SWITCHES as readonly string[]).includes(name)
}

function isValue(name: string): name is Value {
  return (VALUES as readonly string[]).includes(name)
}

/** As the host resolves it: the environment's, with `~` for the user's home, otherwise `~/.dsh`. */
export function homeFolder(named: string | undefined, env: NodeJS.ProcessEnv): string {
  const text = named ?? env['DSH_HOME'] ?? ''
  if (text === '') return join(homedir(), '.dsh')
  return resolve(text.replace(/^~(?=$|[/\\])/, homedir()))
}

function oneOf<Name extends string>(
  option: string,
  value: string | undefined,
  names: readonly Name[],
): Name | undefined {
  if (value === undefined) return undefined
  const found = names.find((name) => name === value.toLowerCase())
  if (found === undefined) throw usage(`--${option} is one of: ${names.join(', ')}; not "${value}".`)
  return found
}

function mapped<Result>(value: string | undefined, map: (value: string) => Result): Result | undefined {
  return value === undefined ? undefined : map(value)
}

function usage(message: string): InstallError {
  return new InstallError('usage', `${message}\n\n${USAGE}`)
}
