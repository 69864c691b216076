/**
 * One real sshd with an account for every login shell that Presence promises, and ways to make their start
 * files print. SFTP is the external program, which sshd starts through the login shell.
 */
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { RemoteFiles } from '../../src/remote/files/remote-files.ts'
import { Machine } from '../../src/remote/machine.ts'
import type { ConnectionPool } from '../../src/ssh/connection/pool.ts'
import { MARK, type DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { findProgram } from '../../scripts/project/programs.ts'
import { makeAccounts, type Account } from './accounts.ts'
import { poolFor, settingsFor } from './rig.ts'

export const LOGIN_SHELLS = ['bash', 'dash', 'zsh', 'fish', 'tcsh', 'busybox'] as const
export type LoginShellName = (typeof LOGIN_SHELLS)[number]
/** `nologin` and `false` log in and run nothing. */
export type AccountName = LoginShellName | 'nologin' | 'false'

/** The file of each shell that it reads before every command, interactive or not; null: it reads none. */
export const START_FILES: Readonly<Record<LoginShellName, string | null>> = {
  bash: '.bashrc',
  dash: null,
  zsh: '.zshenv',
  fish: '.config/fish/config.fish',
  tcsh: '.tcshrc',
  busybox: null,
}

const EXTERNAL_SFTP = 'Subsystem sftp /usr/lib/openssh/sftp-server'

/** A connection of Presence as one account. */
export interface Visit {
  readonly machine: Machine
  readonly files: RemoteFiles
  readonly pool: ConnectionPool
}

export interface LoginShells<Name extends AccountName> {
  readonly server: DemoMachine
  readonly accounts: Readonly<Record<Name, Account>>
  visit(name: Name): Visit
  stop(): Promise<void>
}

/**
 * @param wanted - the accounts to make.
 * @param sshdConfig - lines that win over those here.
 */
export async function startLoginShells<Name extends AccountName>(
  wanted: readonly [Name, ...Name[]],
  sshdConfig: readonly string[] = [],
): Promise<LoginShells<Name>> {
  const links = mkdtempSync('/var/tmp/presence-shells-')
  chmodSync(links, 0o755)
  const shells = wanted.map(
    (name) => [name, name === 'busybox' ? ashOfBusybox(links) : program(name)] as const,
  )
  const made = await makeAccounts(Object.fromEntries(shells) as Record<Name, string>)
  const { folder, of: accounts } = made
  const remove = async (): Promise<void> => {
    await made.remove()
    rmSync(links, { recursive: true, force: true })
  }
  const names = wanted.map((name) => accounts[name].name)
  const machineFolder = join(folder, 'machine')
  const server = await startOpenSsh({
    folder: machineFolder,
    user: accounts[wanted[0]].name,
    sshdConfig: [
      ...sshdConfig,
      ...(sshdConfig.some((line) => line.startsWith('Subsystem ')) ? [] : [EXTERNAL_SFTP]),
      `AllowUsers ${names.join(' ')}`,
      // Not the rig's: each account has its own home.
      `SetEnv ${MARK}=${machineFolder} LANG=C.UTF-8`,
    ],
  }).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  const pools: ConnectionPool[] = []
  return {
    server,
    accounts,
    visit: (name) => {
      const pool = poolFor(() => settingsFor(server, { user: accounts[name].name }))
      pools.push(pool)
      const machine = new Machine(pool.connection(server.alias))
      return { machine, files: new RemoteFiles(machine), pool }
    },
    stop: async () => {
      for (const pool of pools) pool.close()
      await server.stop()
      await remove()
    },
  }
}

/** Noise before everything else: colours, both streams, words like ours, no end of line, and a trace of what follows. */
export function makeNoisy(account: Account, shell: LoginShellName): void {
  const file = START_FILES[shell]
  if (file === null) {
    // sshd itself runs this one, whatever the shell is; not before its SFTP service.
    account.write('.ssh/rc', `printf '\\033[31mWelcome to os=Plan9\\033[0m'\necho warning >&2\n`)
    return
  }
  account.write(file, noise(shell))
}

export function makeQuiet(account: Account, shell: LoginShellName): void {
  account.remove(START_FILES[shell] ?? '.ssh/rc')
}

function noise(shell: LoginShellName): string {
  const printf = `printf '\\033[31mWelcome\\033[0m\\nos=Plan9\\npresence-00-end\\nno end'`
  switch (shell) {
    case 'tcsh':
      return `/usr/bin/${printf}\nsh -c 'echo warning >&2'\nset echo\n`
    case 'fish':
      return `${printf}\necho warning >&2\nset fish_trace 1\n`
    default:
      return `${printf}\necho warning >&2\ntrap 'echo bye' EXIT\nset -x\n`
  }
}

function program(name: string): string {
  const found = findProgram(name)
  if (found === undefined) throw new Error(`the login shells need ${name}`)
  return found
}

/** busybox decides by the name it is called by, as on the systems where it is the only shell. */
function ashOfBusybox(folder: string): string {
  const link = join(folder, 'ash')
  symlinkSync(program('busybox'), link)
  return link
}
