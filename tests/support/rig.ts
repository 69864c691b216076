/** A real sshd and our own connection to it, for tests of everything below the host. */
import { mkdtempSync, rmSync } from 'node:fs'
import { parseMachineEntry, settingsOfEntry } from '../../src/core/machine-entry.ts'
import { RemoteFiles } from '../../src/remote/files/remote-files.ts'
import { Machine } from '../../src/remote/machine.ts'
import { Secrets } from '../../src/ssh/auth/secrets.ts'
import type { MachineSettings } from '../../src/ssh/config/settings.ts'
import { ConnectionPool } from '../../src/ssh/connection/pool.ts'
import { NOBODY, type Questions } from '../../src/ssh/questions.ts'
import { startOpenSsh, type OpenSshOptions } from '../../scripts/machine/openssh.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'

export interface Rig {
  readonly server: DemoMachine
  readonly machine: Machine
  readonly files: RemoteFiles
  readonly pool: ConnectionPool
  /** A folder on the machine for the test's own files. */
  readonly folder: string
  stop(): Promise<void>
}

export function settingsFor(server: DemoMachine, change: Partial<MachineSettings> = {}): MachineSettings {
  const entry = parseMachineEntry(server.alias, {
    host: server.host,
    port: server.port,
    user: server.user,
    identityFile: server.identityFile,
    knownHostsFile: server.knownHostsFile,
  })
  if (typeof entry === 'string') throw new Error(entry)
  return {
    ...settingsOfEntry(server.alias, entry, undefined, { home: '/nonexistent', user: 'nobody' }),
    ...change,
  }
}

export function poolFor(
  settings: () => MachineSettings,
  questions: Questions = NOBODY,
  env: NodeJS.ProcessEnv = {},
): ConnectionPool {
  return new ConnectionPool({
    settings: () => Promise.resolve(settings()),
    hopSettings: (hop) =>
      Promise.reject(new Error(`no jump host is expected here, but ${hop} was asked for`)),
    questions,
    secrets: new Secrets(),
    env,
    platform: 'linux',
  })
}

export async function startRig(options: Partial<OpenSshOptions> = {}): Promise<Rig> {
  const folder = mkdtempSync('/var/tmp/presence-rig-')
  return rigOf(folder, await startOpenSsh({ folder, ...options }))
}

/** Our connection to a server that was started in `folder`. */
export function rigOf(folder: string, server: DemoMachine): Rig {
  const pool = poolFor(() => settingsFor(server))
  const machine = new Machine(pool.connection(server.alias))
  // However slow this computer is just now: which way is taken must not depend on it.
  machine.farFromMs = Number.POSITIVE_INFINITY
  return {
    server,
    machine,
    files: new RemoteFiles(machine),
    pool,
    folder: server.home,
    stop: async () => {
      pool.close()
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
