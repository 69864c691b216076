/** The servers that are compared with the local provider. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { startOpenSsh, type OpenSshOptions } from '../../../scripts/machine/openssh.ts'
import { makeAccounts } from '../../support/accounts.ts'
import type { Account } from './worlds.ts'

export interface Subject {
  readonly server: DemoMachine
  /** Whose rights both worlds have; undefined: those of this process. */
  readonly account: Account | undefined
  /** Whether version tokens tell as much as those of the local provider. */
  readonly exact: boolean
  stop(): Promise<void>
}

/** OpenSSH as root. */
export async function openSshAsRoot(options: Partial<OpenSshOptions> = {}): Promise<Subject> {
  const folder = mkdtempSync('/var/tmp/presence-oracle-')
  const server = await startOpenSsh({ folder, ...options })
  return {
    server,
    account: undefined,
    exact: true,
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** OpenSSH as an account without privileges, which is refused things. */
export async function openSshAsAccount(sshdConfig: readonly string[], exact: boolean): Promise<Subject> {
  const { folder, of, remove } = await makeAccounts({ plain: '/bin/bash' })
  const { name, uid, gid } = of.plain
  const server = await startOpenSsh({ folder: join(folder, 'machine'), user: name, sshdConfig })
  return {
    server,
    account: { uid, gid },
    exact,
    stop: async () => {
      await server.stop()
      await remove()
    },
  }
}
