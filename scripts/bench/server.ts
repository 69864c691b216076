/**
 * The real sshd that everybody is measured against, at an address of ours: on loopback or at the far end
 * of a line. The account's home is empty, so that nobody's login scripts are in the figures.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { startChild } from '../project/children.ts'
import { atTheEnd } from '../project/endings.ts'
import { findProgram } from '../project/programs.ts'
import { hiding } from '../machine/hiding.ts'
import { layOut, quoted, sessionEnvironment, writeClientFiles } from '../machine/layout.ts'
import { descendantsOf, endProcesses } from '../machine/processes.ts'

export interface BenchServer {
  readonly alias: string
  readonly host: string
  readonly port: number
  readonly user: string
  readonly identityFile: string
  /** Holds exactly this server's host key. */
  readonly knownHostsFile: string
  /** The account's home folder. */
  readonly home: string
  /** For `ssh -F`; knows `alias` and nothing else. */
  readonly sshConfigFile: string
  /** For sockets and the like; goes with the server. */
  readonly folder: string
  stop(): Promise<void>
}

export interface ServerOptions {
  /** Argv that puts it at the far end of a bed. */
  readonly within?: readonly string[]
  /** It serves files and runs no commands. */
  readonly filesOnly?: boolean
  /** Its commands find no ripgrep. */
  readonly noRipgrep?: boolean
}

const STARTING_MS = 10_000

export async function startServer(
  host: string,
  port: number,
  { within = [], filesOnly = false, noRipgrep = false }: ServerOptions = {},
): Promise<BenchServer> {
  const program = findProgram('sshd')
  if (program === undefined) throw new Error('there is no sshd on this computer')
  const folder = await mkdtemp(join(tmpdir(), 'presence-bench-'))
  const layout = await layOut({ folder, alias: 'bench' })
  if (noRipgrep) await rm(join(layout.bin, 'rg'), { force: true })
  const user = userInfo().username
  const environment = Object.entries(sessionEnvironment(layout)).map(([name, value]) => `"${name}=${value}"`)
  const server = [
    `ListenAddress ${host}`,
    `Port ${port}`,
    `HostKey ${quoted(layout.hostKey.privateFile)}`,
    'PidFile none',
    `AllowUsers ${user}`,
    `AuthorizedKeysFile ${quoted(layout.authorizedKeysFile)}`,
    'StrictModes no',
    'UsePAM no',
    'UseDNS no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin prohibit-password',
    'MaxStartups 100',
    'PrintMotd no',
    'PrintLastLog no',
    `SetEnv ${environment.join(' ')}`,
    'Subsystem sftp internal-sftp',
    ...(filesOnly ? ['ForceCommand internal-sftp'] : []),
  ]
  await writeFile(layout.sshdConfigFile, `${server.join('\n')}\n`)
  await writeClientFiles(layout, port, user, host)
  // Debian's sshd, started as root, wants this folder and its service makes it.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
  const argv = [resolve(program), '-D', '-f', layout.sshdConfigFile, '-E', layout.logFile]
  const sshd = await startChild([...within, ...(noRipgrep ? hiding('rg') : []), ...argv])
  const end = async (): Promise<void> => {
    const connections = await descendantsOf(sshd.pid)
    await sshd.stop()
    await endProcesses(connections)
    await rm(folder, { recursive: true, force: true })
  }
  const forget = atTheEnd({ release: end })
  const stop = async (): Promise<void> => {
    await end()
    forget()
  }
  try {
    await answers(host, port)
  } catch (cause) {
    await stop()
    throw new Error(`sshd does not answer at ${host} port ${port}`, { cause })
  }
  return {
    alias: layout.alias,
    host,
    port,
    user,
    identityFile: layout.userKey.privateFile,
    knownHostsFile: layout.knownHostsFile,
    home: layout.home,
    sshConfigFile: layout.sshConfigFile,
    folder,
    stop,
  }
}

async function answers(host: string, port: number): Promise<void> {
  const until = Date.now() + STARTING_MS
  for (;;) {
    try {
      return await new Promise<void>((heard, refused) => {
        const socket = connect({ host, port })
        socket.once('data', () => heard(socket.destroy() && undefined))
        socket.once('error', refused)
        socket.once('end', () => refused(new Error('it closed the connection')))
      })
    } catch (failure) {
      if (Date.now() > until) throw failure
      await new Promise((resume) => setTimeout(resume, 50))
    }
  }
}
