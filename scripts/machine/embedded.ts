/**
 * A rig machine without sshd: an SSH server inside this process, for computers that have none. It
 * logs in one account by one key, runs commands and serves SFTP; there are no terminals, no
 * forwardings and no other accounts, because the operating system would have to switch users.
 */
import { userInfo } from 'node:os'
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'
import { atTheEnd } from '../project/endings.ts'
import { Connections } from './embedded/connections.ts'
import { witnessOf } from './independent.ts'
import { layOut, sessionEnvironment, writeClientFiles, type Layout } from './layout.ts'
import { MARK, type DemoMachine, type MachineOptions } from './machine.ts'
import { endProcesses, processesWith } from './processes.ts'

export interface EmbeddedOptions extends MachineOptions {
  /** Channels a connection may have open at once, as sshd's `MaxSessions`; 10 when absent. */
  readonly maxSessions?: number
  /** What it calls itself in its identification line; `PresenceRig` when absent. */
  readonly software?: string
}

export async function startEmbedded(options: EmbeddedOptions): Promise<DemoMachine> {
  const layout = await layOut(options)
  const user = userInfo().username
  const connections = new Connections({
    user,
    publicKey: layout.userKey.publicLine,
    home: layout.home,
    environment: accountEnvironment(layout, user),
    maxSessions: options.maxSessions ?? 10,
  })
  let server = await listen(layout, connections, options, 0)
  const { port } = server.address() as AddressInfo
  await writeClientFiles(layout, port, user)

  const end = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    await connections.endAll()
    await closed
    await endProcesses(await processesWith(MARK, layout.folder))
  }
  const forget = atTheEnd({ release: end, atExit: () => connections.killCommands() })
  const login = {
    alias: layout.alias,
    host: '127.0.0.1',
    port,
    user,
    identityFile: layout.userKey.privateFile,
    knownHostsFile: layout.knownHostsFile,
    sshConfigFile: layout.sshConfigFile,
  }
  const witness = witnessOf(login)
  let running = true
  return {
    ...login,
    kind: 'embedded',
    home: layout.home,
    run: (command) => witness.run(command),
    stop: async () => {
      if (running) await end()
      running = false
      forget()
    },
    restart: async () => {
      if (running) await end()
      server = await listen(layout, connections, options, port)
      running = true
    },
  }
}

async function listen(
  layout: Layout,
  connections: Connections,
  { software = 'PresenceRig' }: EmbeddedOptions,
  port: number,
): Promise<ssh2.Server> {
  const server = new ssh2.Server({ hostKeys: [layout.hostKey.privateKey], ident: software })
  server.on('connection', (client, info) => connections.accept(client, info.header.versions.software))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  server.on('error', (late: unknown) => console.error('presence: embedded machine:', late))
  return server
}

function accountEnvironment(layout: Layout, user: string): Record<string, string> {
  return { USER: user, LOGNAME: user, SHELL: '/bin/sh', ...sessionEnvironment(layout) }
}
