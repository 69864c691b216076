/**
 * Accounts of this computer that exist for one test file, each with a login shell and a home of its own.
 * Needs root, as every test of other accounts does. `remove` ends what still runs as them.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { endProcesses } from '../../scripts/machine/processes.ts'
import { run } from '../../scripts/project/children.ts'
import { atTheEnd } from '../../scripts/project/endings.ts'

export interface Account {
  readonly name: string
  readonly home: string
  readonly uid: number
  readonly gid: number
  readonly shell: string
  /** Write a file of theirs, with its folders; `file` is relative to the home. */
  write(file: string, text: string, mode?: number): void
  /** Remove a file of theirs, if it is there. */
  remove(file: string): void
}

export interface Accounts<Name extends string> {
  /** Holds the homes, and is open to all of them. */
  readonly folder: string
  readonly of: Readonly<Record<Name, Account>>
  remove(): Promise<void>
}

/** Another test file may be changing the accounts at the same moment. */
const LOCKED = /cannot lock|try again later/i
const LOCK_PATIENCE_MS = 20_000

/** @param shells - absolute path of each account's login shell, by the name that the test calls it by. */
export async function makeAccounts<Name extends string>(
  shells: Readonly<Record<Name, string>>,
): Promise<Accounts<Name>> {
  const folder = mkdtempSync('/var/tmp/presence-accounts-')
  chmodSync(folder, 0o755)
  const names = Object.keys(shells) as Name[]
  const made: Account[] = []
  const accounts: Partial<Record<Name, Account>> = {}
  const remove = async (): Promise<void> => {
    for (const { name, uid } of made.splice(0)) {
      await endProcesses(await processesOf(uid))
      await change(['userdel', name])
    }
    rmSync(folder, { recursive: true, force: true })
    forget()
  }
  const forget = atTheEnd({
    release: remove,
    atExit: () => {
      for (const { name } of made) spawnSync('userdel', ['--force', name])
    },
  })
  try {
    for (const key of names) {
      const name = `pr-${key.slice(0, 12)}-${Math.random().toString(36).slice(2, 7)}`
      const account = await makeAccount(name, join(folder, key), shells[key])
      made.push(account)
      accounts[key] = account
    }
  } catch (error) {
    await remove()
    throw error
  }
  return { folder, of: accounts as Record<Name, Account>, remove }
}

async function makeAccount(name: string, home: string, shell: string): Promise<Account> {
  // Locked accounts are refused without PAM; one without a usable password is not locked.
  const facts = [
    '--no-user-group',
    '--no-create-home',
    '--home-dir',
    home,
    '--shell',
    shell,
    '--password',
    '*',
  ]
  await change(['useradd', ...facts, name])
  const uid = Number((await run(['id', '-u', name])).stdout)
  const gid = Number((await run(['id', '-g', name])).stdout)
  const own = (path: string, mode: number): void => {
    chownSync(path, uid, gid)
    chmodSync(path, mode)
  }
  mkdirSync(home)
  own(home, 0o755)
  return {
    name,
    home,
    uid,
    gid,
    shell,
    write: (file, text, mode = 0o644) => {
      const path = join(home, file)
      const folders = dirname(file).split('/')
      for (let depth = 1; depth <= folders.length; depth += 1) {
        const above = join(home, ...folders.slice(0, depth))
        mkdirSync(above, { recursive: true })
        own(above, 0o755)
      }
      writeFileSync(path, text)
      own(path, mode)
    },
    remove: (file) => rmSync(join(home, file), { force: true }),
  }
}

async function change(argv: readonly string[]): Promise<void> {
  const until = Date.now() + LOCK_PATIENCE_MS
  for (;;) {
    const { code, stderr } = await run(argv)
    if (code === 0) return
    if (!LOCKED.test(stderr) || Date.now() > until) throw new Error(`${argv.join(' ')}: ${stderr}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function processesOf(uid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const owned = await Promise.all(
    pids.map(async (pid) => {
      const owner = await stat(`/proc/${pid}`).catch((_endedMeanwhile: unknown) => undefined)
      return owner?.uid === uid ? [Number(pid)] : []
    }),
  )
  return owned.flat()
}
