/**
 * The oracle and what is measured by it: the host's own local provider on one folder of this computer, and
 * Presence on a twin of that folder over SSH. Both act as the same account, so that what is refused to one
 * is refused to the other.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import LocalFileSystem from '@deepseek-ai/dsh-fs-local'
import { onBehalfOf } from '../../../src/core/current-session.ts'
import type { Provider } from '../../support/seams.ts'
import type { Subject } from './machines.ts'
import { onDisk } from './on-disk.ts'

/** Texts of so many bytes are not given back for a comparison; small, so that the tests get there. */
export const DIFF_LIMIT = 64 * 1024

export interface Account {
  readonly uid: number
  readonly gid: number
}

export interface World {
  readonly name: string
  readonly fs: FileSystem
  /** The folder as callers spell it. */
  readonly folder: string
  /** The same folder on the disk of this computer. */
  readonly disk: string
  /** Spellings that mean the folder, then those that mean the one above. */
  readonly spellings: readonly string[]
  /** Run something as a tool call of its own; `changes`: of a tool that only changes a file. */
  as<T>(act: () => Promise<T>, changes?: boolean): Promise<T>
}

export interface Twins {
  readonly here: World
  readonly there: World
  /** A file of the account beside both folders, on the same file system. */
  readonly probe: string
  /** Change both disks alike. */
  both(change: (disk: string) => void): void
  /** What lies on both disks, here and there. */
  onDisks(): readonly [string[], string[]]
  /** Empty both folders. */
  clear(): void
  remove(): void
}

/** The local provider in a context of its own. */
export async function startLocal(cwd: string): Promise<FileSystem> {
  const ctx = new Context()
  const rows = ctx as unknown as { plugin(row: unknown, config: unknown): unknown }
  rows.plugin(LocalFileSystem, { cwd, diffBasisMaxBytes: DIFF_LIMIT })
  return new Promise<FileSystem>((resolve) => {
    ctx.inject(['fs'], (scope) => resolve(scope.get('fs') as FileSystem))
  })
}

/**
 * Take on the rights of an account; changing them is dear, since every thread of the process has to follow.
 * The groups first: they cannot be changed afterwards. @returns the way back.
 */
function become({ uid, gid }: Account): () => void {
  const groups = process.getgroups?.() ?? []
  process.setgroups?.([gid])
  process.setegid?.(gid)
  process.seteuid?.(uid)
  return () => {
    process.seteuid?.(0)
    process.setegid?.(0)
    process.setgroups?.(groups)
  }
}

/** Do something as root in between. */
function asRoot<T>(account: Account | undefined, act: () => T): T {
  if (account === undefined) return act()
  process.seteuid?.(0)
  try {
    return act()
  } finally {
    process.seteuid?.(account.uid)
  }
}

/** Do something as the account, or as root where the account may not: it must be fit to be begun again. */
function asRootIfDenied<T>(account: Account | undefined, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error
    return asRoot(account, act)
  }
}

/**
 * Two folders with names of one length, so that sizes of links agree; in memory, where that can be, so that
 * forcing to the disk costs nothing. From here on, until `remove`, this process has the rights of the account.
 */
export function makeTwins(
  local: FileSystem,
  provider: Provider,
  machine: string,
  { account, far }: Pick<Subject, 'account' | 'far'>,
): Twins {
  const base = realpathSync(mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : '/var/tmp', 'presence-')))
  chmodSync(base, 0o755)
  const [home, away] = [join(base, 'here/w'), join(base, 'away/w')]
  for (const disk of [home, away]) mkdirSync(dirname(disk))
  const probe = join(base, 'probe')
  writeFileSync(probe, '')
  for (const disk of [home, away]) mkdirSync(disk)
  if (account !== undefined) {
    for (const path of [probe, home, away]) chownSync(path, account.uid, account.gid)
  }
  const mounted = provider.mountOf(machine, away)
  if (far) provider.takeForFar(machine)
  const back = account === undefined ? undefined : become(account)
  return {
    here: {
      name: 'local',
      fs: local,
      folder: home,
      disk: home,
      spellings: [home, dirname(home)],
      as: (act) => act(),
    },
    there: {
      name: machine,
      fs: provider.fs,
      folder: mounted,
      disk: away,
      spellings: [away, dirname(away)].flatMap((path) => [
        `presence://${machine}${path}`,
        provider.mountOf(machine, path),
        path,
      ]),
      // As far as what is fetched for one call goes.
      as: (act, changes = false) =>
        far ? onBehalfOf({ cwd: mounted, phase: 'tool', named: [], changes }, act) : act(),
    },
    probe,
    both: (change) => [home, away].forEach((disk) => change(disk)),
    onDisks: () => asRootIfDenied(account, () => [onDisk(home), onDisk(away)] as const),
    clear: () => asRootIfDenied(account, () => [home, away].forEach(empty)),
    remove: () => {
      back?.()
      rmSync(base, { recursive: true, force: true })
    },
  }
}

function empty(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
}
