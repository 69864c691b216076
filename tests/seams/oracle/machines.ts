/** The servers that are compared with the local provider. */
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { STATUS } from '../../../scripts/machine/embedded/sftp/status.ts'
import { TYPE } from '../../../scripts/machine/embedded/sftp/wire.ts'
import { startEmbedded } from '../../../scripts/machine/embedded.ts'
import { startOpenSsh, type OpenSshOptions } from '../../../scripts/machine/openssh.ts'
import { makeAccounts } from '../../support/accounts.ts'
import { startDropbear } from '../../support/dropbear.ts'
import { startFakeServer, type FakeServer } from '../../support/fake-server.ts'
import type { Login } from '../../support/host.ts'
import type { Account } from './worlds.ts'

export interface Subject {
  readonly server: Login
  /** Whose rights both worlds have; undefined: those of this process. */
  readonly account: Account | undefined
  /** Whether version tokens tell as much as those of the local provider. */
  readonly exact: boolean
  /** Taken for far away: what takes several requests is asked of its shell at once. */
  readonly far: boolean
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
    far: false,
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
  const account = { uid, gid }
  giveKey(server, account)
  return {
    server,
    account,
    exact,
    far: false,
    stop: async () => {
      await server.stop()
      await remove()
    },
  }
}

/** Who logs in is this process with the rights of the account. */
function giveKey({ identityFile }: Login, { uid, gid }: Account): void {
  chownSync(identityFile, uid, gid)
}

/** dropbear, whose SFTP is OpenSSH's program. */
export async function dropbear(): Promise<Subject> {
  const { account, login, stop } = await startDropbear()
  giveKey(login, account)
  return { server: login, account, exact: true, far: false, stop }
}

export async function embedded(): Promise<Subject> {
  const folder = mkdtempSync('/var/tmp/presence-oracle-')
  const server = await startEmbedded({ folder })
  return {
    server,
    account: undefined,
    exact: true,
    far: false,
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server that can do less than others, in the ways that `lessen` gives it. */
export async function lesser(lessen: (fake: FakeServer) => void): Promise<Subject> {
  // It takes away no permissions from files that it makes: some of these servers can set none later.
  const umask = process.umask(0)
  const server = await startFakeServer()
  lessen(server)
  return {
    server,
    account: undefined,
    exact: true,
    far: false,
    stop: async () => {
      process.umask(umask)
      await server.stop()
    },
  }
}

export const LESS = {
  'nothing but version 3': (fake: FakeServer): void => {
    fake.offers = () => false
  },
  'no way to set permissions': (fake: FakeServer): void => {
    fake.judge = ({ name }) => (/setstat/.test(name) ? { status: STATUS.unsupported } : 'answer')
  },
  'short answers, and no care for EXCL': (fake: FakeServer): void => {
    fake.alter = (request) => {
      const altered = Buffer.from(request)
      if (altered[0] === TYPE.read)
        altered.writeUInt32BE(Math.min(1000, altered.readUInt32BE(altered.length - 4)), altered.length - 4)
      if (altered[0] === TYPE.open) {
        const flags = 9 + altered.readUInt32BE(5)
        altered.writeUInt32BE(altered.readUInt32BE(flags) & ~EXCLUSIVE, flags)
      }
      return altered
    }
  },
} as const

/** `SSH_FXF_EXCL` (draft-ietf-secsh-filexfer-02, section 6.3). */
const EXCLUSIVE = 0x20
