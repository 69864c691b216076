/**
 * Who is at work in a profile right now. DSH 0.1.0-rc.8 writes no lock of its own, so the process table
 * is asked: by the program's path, its launcher arguments, and the home in its environment.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, win32 } from 'node:path'
import { run } from '../project/children.ts'
import { existing } from './durable.ts'
import { codeOf, InstallError } from './failure.ts'
import type { Profile } from './profile.ts'

export interface Work {
  readonly pid: number
  /** `host`: DSH itself. `plugin`: its `dsh plugin`. `pnpm`: a package manager of an interrupted run. */
  readonly kind: 'host' | 'plugin' | 'pnpm'
  readonly command: string
  /** Its environment cannot be seen here, so its home may be another one. */
  readonly uncertain: boolean
}

interface Process {
  readonly pid: number
  readonly words: readonly string[]
  environment(): Promise<Environment>
  /** Undefined where it cannot be seen. */
  folder(): Promise<string | undefined>
}

/** `hidden`: this system shows none. `another-account`: its home is that account's. */
type Environment = readonly string[] | 'hidden' | 'another-account'

export async function workIn(profile: Profile): Promise<Work[]> {
  const found: Work[] = []
  for (const one of await processes()) {
    if (one.pid === process.pid) continue
    const command = one.words.join(' ')
    const call = launcherCall(one.words)
    if (call?.profile === profile.name) {
      const environment = await one.environment()
      if (environment === 'another-account') continue
      const uncertain = environment === 'hidden'
      const same = uncertain || (await existing(homeIn(environment))) === (await existing(profile.home))
      if (same) found.push({ pid: one.pid, kind: call.kind, command, uncertain })
    } else if (isOurPnpm(command) && (await isIn(one, profile))) {
      found.push({ pid: one.pid, kind: 'pnpm', command, uncertain: false })
    }
  }
  return found
}

/** @returns true when a process of this number is an installer. */
export async function isInstaller(pid: number): Promise<boolean> {
  const one = (await processes()).find((candidate) => candidate.pid === pid)
  return one !== undefined && /install-presence|scripts[/\\]install/.test(one.words.join(' '))
}

/**
 * A package manager that outlived its installer goes on by itself: wait until it has ended.
 * @throws InstallError `busy`.
 */
export async function waitForPnpm(profile: Profile, withinMs = 60_000): Promise<void> {
  const until = Date.now() + withinMs
  for (;;) {
    const [left] = (await workIn(profile)).filter((work) => work.kind === 'pnpm')
    if (left === undefined) return
    if (Date.now() > until) {
      throw new InstallError(
        'busy',
        `The package manager of an interrupted run is still at work (process ${left.pid}: ${left.command}). ` +
          'End it, then run the installer again.',
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** The profile a process runs, from the words it was started with; undefined when it is no DSH. */
export function launcherCall(
  words: readonly string[],
): { readonly profile: string; readonly kind: 'host' | 'plugin' } | undefined {
  // `dsh …`, `node …/dsh …`, `sh …/dsh …`: an interpreter and its flags may stand before it.
  const at = words.slice(0, 4).findIndex(isDsh)
  if (at < 0 || (at > 0 && !/^(?:node|sh|bash|cmd)(?:\.exe)?$/i.test(win32.basename(words[0] ?? '')))) {
    return undefined
  }
  const rest = words.slice(at + 1)
  let profile: string | undefined
  let kind: 'host' | 'plugin' = 'host'
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--profile') profile = rest.shift()
    else if (word.startsWith('--profile=')) profile = word.slice('--profile='.length)
    else if (word === '--patch') rest.shift()
    else if (word === 'web' && profile === undefined) profile = 'web'
    else if (word === 'plugin' && profile === undefined) kind = 'plugin'
    else if (word === '--dump-config' || word === '--dump-default-config') return undefined
    else if (!word.startsWith('--patch=')) break
  }
  return profile === undefined ? undefined : { profile, kind }
}

function isDsh(word: string): boolean {
  const path = word.replaceAll('\\', '/').toLowerCase()
  return path.endsWith('/@deepseek-ai/dsh/lib/bin.js') || /^(?:.*\/)?dsh(?:\.cmd|\.exe|\.js)?$/.test(path)
}

function isOurPnpm(command: string): boolean {
  return /pnpm/i.test(command) && /\.presence[/\\]dsh-presence-|\bremove dsh-presence\b/.test(command)
}

async function isIn(one: Process, profile: Profile): Promise<boolean> {
  const folder = await one.folder()
  return folder === undefined || folder === (await existing(profile.folder))
}

function homeIn(environment: readonly string[]): string {
  const value = (name: string): string | undefined =>
    environment.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1)
  const user = value('HOME') ?? homedir()
  const named = value('DSH_HOME') ?? ''
  return named === '' ? join(user, '.dsh') : named.replace(/^~(?=$|\/)/, user)
}

async function processes(): Promise<Process[]> {
  if (existsSync('/proc/self/cmdline')) return fromProc()
  return process.platform === 'win32' ? fromWindows() : fromPs()
}

async function fromProc(): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const entries = pids.map(async (name) => {
    const words = await looked(() => readFile(`/proc/${name}/cmdline`, 'utf8'))
    if (words === undefined || words === '') return []
    return [
      {
        pid: Number(name),
        words: words.replace(/\0$/, '').split('\0'),
        environment: async () =>
          (await looked(() => readFile(`/proc/${name}/environ`, 'utf8')))?.split('\0') ?? 'another-account',
        folder: async () => (await looked(() => readlink(`/proc/${name}/cwd`))) ?? '',
      },
    ]
  })
  return (await Promise.all(entries)).flat()
}

async function fromPs(): Promise<Process[]> {
  const { stdout } = await run(['ps', '-axww', '-o', 'pid=,command='])
  return rowsOf(stdout).map(({ pid, text }) => ({
    pid,
    words: text.split(/\s+/),
    // With `e`, the environment follows the command.
    environment: async () =>
      (await run(['ps', 'eww', '-o', 'command=', '-p', String(pid)])).stdout.split(/\s+/),
    folder: () => Promise.resolve(undefined),
  }))
}

async function fromWindows(): Promise<Process[]> {
  const list = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.CommandLine)" }'
  const { stdout } = await run(['powershell.exe', '-NoProfile', '-NonInteractive', '-Command', list])
  return rowsOf(stdout).map(({ pid, text }) => ({
    pid,
    words: text.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [],
    environment: () => Promise.resolve('hidden' as const),
    folder: () => Promise.resolve(undefined),
  }))
}

function rowsOf(text: string): { pid: number; text: string }[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const row = /^\s*(\d+)\s+(.+)$/.exec(line)
    return row === null ? [] : [{ pid: Number(row[1]), text: row[2] ?? '' }]
  })
}

/** Undefined for a process that ended meanwhile, or that is not ours to look into. */
async function looked(read: () => Promise<string>): Promise<string | undefined> {
  try {
    return await read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}
