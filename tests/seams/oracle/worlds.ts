/**
 * The oracle and what is measured by it: the host's own local provider on one folder of this computer, and
 * Presence on a twin of that folder over SSH. Both act as the same account, so that what is refused to one
 * is refused to the other.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import LocalFileSystem from '@deepseek-ai/dsh-fs-local'
import { onBehalfOf } from '../../../src/core/current-session.ts'
import type { Provider } from '../../support/seams.ts'
import type { Subject } from './machines.ts'

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
  /** Run something with the rights that the world has; `changes`: as a tool that only changes a file. */
  as<T>(act: () => Promise<T>, changes?: boolean): Promise<T>
}

export interface Twins {
  readonly here: World
  readonly there: World
  /** Change both disks alike, as the account of both worlds. */
  both(change: (disk: string) => void): void
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

/** Act with the rights of an account; undefined: with our own. */
export async function asAccount<T>(account: Account | undefined, act: () => Promise<T>): Promise<T> {
  if (account === undefined) return act()
  const back = become(account)
  try {
    return await act()
  } finally {
    back()
  }
}

function asAccountNow(account: Account | undefined, act: () => void): void {
  if (account === undefined) {
    act()
    return
  }
  const back = become(account)
  try {
    act()
  } finally {
    back()
  }
}

/** The groups first: they cannot be changed afterwards. @returns the way back. */
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

/**
 * Two folders with names of one length, so that sizes of links agree; in memory, where that can be, so that
 * forcing to the disk costs nothing.
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
  const make = (): void => {
    for (const disk of [home, away]) {
      mkdirSync(disk)
      if (account !== undefined) chownSync(disk, account.uid, account.gid)
    }
  }
  make()
  const mounted = provider.mountOf(machine, away)
  if (far) provider.takeForFar(machine)
  return {
    here: {
      name: 'local',
      fs: local,
      folder: home,
      disk: home,
      spellings: [home, dirname(home)],
      as: (act) => asAccount(account, act),
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
      // Each is a tool call of its own, as far as what is fetched for one goes.
      as: (act, changes = false) =>
        far ? onBehalfOf({ cwd: mounted, phase: 'tool', named: [], changes }, act) : act(),
    },
    both: (change) => asAccountNow(account, () => [home, away].forEach((disk) => change(disk))),
    clear: () => {
      for (const disk of [home, away]) rmSync(disk, { recursive: true, force: true })
      make()
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  }
}
