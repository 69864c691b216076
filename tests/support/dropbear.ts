/**
 * A real dropbear on loopback with one account of this computer, for what it does differently from OpenSSH.
 * Its SFTP service is the same external program, started through the login shell.
 */
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { RemoteFiles } from '../../src/remote/files/remote-files.ts'
import { Machine } from '../../src/remote/machine.ts'
import { keyPairAt } from '../../scripts/machine/keys.ts'
import { descendantsOf, endProcesses } from '../../scripts/machine/processes.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { run, startChild } from '../../scripts/project/children.ts'
import { freePort, sshIdentification } from '../../scripts/project/port.ts'
import { findProgram } from '../../scripts/project/programs.ts'
import { makeAccounts, type Account } from './accounts.ts'
import type { Login } from './host.ts'
import { poolFor, settingsFor } from './rig.ts'
import type { Visit } from './login-shells.ts'

export interface Dropbear {
  readonly account: Account
  readonly port: number
  readonly login: Login
  /** A new connection. */
  visit(): Visit
  stop(): Promise<void>
}

/** The account logs in to bash, which reads `.bashrc` before each command that comes by the network. */
export async function startDropbear(): Promise<Dropbear> {
  // It lets in only those whose shell is in /etc/shells, by that very path.
  const { folder, of, remove } = await makeAccounts({ bash: '/bin/bash' })
  const account = of.bash
  const userKey = await keyPairAt(join(folder, 'id_ed25519'), 'user of dropbear')
  account.write('.ssh/authorized_keys', `${userKey.publicLine}\n`, 0o600)
  const hostKeyFile = join(folder, 'host_key')
  const made = await run(['dropbearkey', '-t', 'ed25519', '-f', hostKeyFile])
  const hostKey = /^ssh-ed25519 \S+/m.exec(made.stdout)?.[0]
  if (hostKey === undefined) throw new Error(`dropbearkey made no key: ${made.stdout}${made.stderr}`)
  const port = await freePort()
  const program = findProgram('dropbear') ?? 'dropbear'
  const where = ['-p', `127.0.0.1:${port}`, '-r', hostKeyFile, '-P', join(folder, 'pid')]
  const server = await startChild([program, '-F', '-E', '-s', ...where])
  server.process.stdout?.resume()
  server.process.stderr?.resume()
  const until = Date.now() + 10_000
  while ((await sshIdentification(port)) === undefined) {
    if (Date.now() > until) throw new Error('dropbear did not answer within 10 s')
    await new Promise((resume) => setTimeout(resume, 30))
  }
  const knownHostsFile = join(folder, 'known_hosts')
  writeFileSync(knownHostsFile, `[127.0.0.1]:${port} ${hostKey}\n`)
  const login = { alias: 'demo', host: '127.0.0.1', port, user: account.name, knownHostsFile }
  const identityFile = userKey.privateFile
  const visits: Visit[] = []
  return {
    account,
    port,
    login: { ...login, identityFile },
    visit: () => {
      const pool = poolFor(() => settingsFor({ ...login, identityFile } as DemoMachine))
      const machine = new Machine(pool.connection('demo'))
      const visit = { machine, files: new RemoteFiles(machine), pool }
      visits.push(visit)
      return visit
    },
    stop: async () => {
      for (const { pool } of visits) pool.close()
      const connections = await descendantsOf(server.pid)
      await server.stop()
      await endProcesses(connections)
      await remove()
    },
  }
}
