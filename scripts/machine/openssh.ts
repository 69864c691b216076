/**
 * A rig machine behind the installed `sshd`, on a free loopback port, as the current user or (root
 * only) as another one. It owns the server process; layout and keys are `layout.ts`.
 */
import { chmod, chown, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { run, startChild, type Child } from '../project/children.ts'
import { atTheEnd } from '../project/endings.ts'
import { findProgram } from '../project/programs.ts'
import { witnessOf } from './independent.ts'
import { layOut, quoted, sessionEnvironment, writeClientFiles, type Layout } from './layout.ts'
import { MARK, type DemoMachine, type MachineOptions } from './machine.ts'
import { freePort, sshIdentification } from '../project/port.ts'
import { descendantsOf, endProcesses, processesWith } from './processes.ts'

export interface OpenSshOptions extends MachineOptions {
  /** Account to log in to; another than the current one needs root. Its `home` is still the rig's. */
  readonly user?: string
  /**
   * Lines for sshd_config, written before the rig's own, so that they win. A `Subsystem` line replaces
   * the rig's SFTP service.
   */
  readonly sshdConfig?: readonly string[]
  /** Argv that the server's own is appended to, e.g. of a program that gives it a view of its own. */
  readonly within?: readonly string[]
}

/** How often another port is tried when the chosen one was taken meanwhile. */
const PORT_ATTEMPTS = 5

export function sshdInstalled(): boolean {
  return findProgram('sshd') !== undefined
}

export async function startOpenSsh(options: OpenSshOptions): Promise<DemoMachine> {
  const user = options.user ?? userInfo().username
  const other = user !== userInfo().username
  const layout = await layOut(options, other)
  if (other) await handOver(layout.home, user)
  const start = await sftpStart(layout.home)
  const extra = options.sshdConfig ?? []
  const within = options.within ?? []
  let { port, sshd } = await listen(layout, user, start.folder, extra, within).catch(
    async (failure: unknown) => {
      await start.release()
      throw failure
    },
  )
  await writeClientFiles(layout, port, user)

  const end = async (): Promise<void> => {
    const connections = await descendantsOf(sshd.pid)
    await sshd.stop()
    await endProcesses(connections)
    await endProcesses(await processesWith(MARK, layout.folder))
  }
  const stop = async (): Promise<void> => {
    await end()
    await start.release()
  }
  const forget = atTheEnd({ release: stop })
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
  return {
    ...login,
    kind: 'openssh',
    home: layout.home,
    run: (command) => witness.run(command),
    stop: async () => {
      await stop()
      forget()
    },
    restart: async () => {
      await end()
      ;({ port, sshd } = await listen(layout, user, start.folder, extra, within, port))
    },
  }
}

async function listen(
  layout: Layout,
  user: string,
  startFolder: string,
  extra: readonly string[],
  within: readonly string[],
  wanted?: number,
): Promise<{ port: number; sshd: Child }> {
  const program = findProgram('sshd')
  if (program === undefined) throw new Error('there is no sshd on this computer')
  // Debian's sshd, started as root, wants this folder and its service makes it.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await freePort())
    await writeFile(layout.sshdConfigFile, configuration(layout, port, user, startFolder, extra))
    await rm(layout.logFile, { force: true })
    // sshd executes itself again for each connection: with a relative path every one would be reset.
    const argv = [...within, resolve(program), '-D', '-f', layout.sshdConfigFile, '-E', layout.logFile]
    const sshd = await startChild(argv)
    const failure = await listening(sshd, port)
    if (failure === undefined) return { port, sshd }
    await sshd.stop()
    const log = await readFile(layout.logFile, 'utf8').catch((cause: unknown) => `no log: ${String(cause)}`)
    if (attempt >= PORT_ATTEMPTS || !/Address already in use/.test(log)) {
      throw new Error(`sshd did not start (${failure}); its log says:\n${log}`)
    }
  }
}

/** @returns what went wrong, or undefined once the server answers. */
async function listening(sshd: Child, port: number): Promise<string | undefined> {
  let ended: string | undefined
  void sshd.ended.then(
    ({ code, signal }) => (ended = `it ended with ${signal ?? `exit code ${String(code)}`}`),
  )
  const until = Date.now() + 10_000
  while (ended === undefined && Date.now() < until) {
    if ((await sshIdentification(port)) !== undefined) return undefined
    await new Promise((resume) => setTimeout(resume, 30))
  }
  return ended ?? 'it did not answer within 10 s'
}

function configuration(
  layout: Layout,
  port: number,
  user: string,
  startFolder: string,
  extra: readonly string[],
): string {
  const environment = Object.entries(sessionEnvironment(layout)).map(([name, value]) => `"${name}=${value}"`)
  const lines = [
    ...extra,
    'ListenAddress 127.0.0.1',
    `Port ${port}`,
    `HostKey "${layout.hostKey.privateFile}"`,
    'PidFile none',
    `AllowUsers ${user}`,
    `AuthorizedKeysFile ${quoted(layout.authorizedKeysFile)}`,
    'StrictModes no',
    'UsePAM no',
    'UseDNS no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin prohibit-password',
    'PrintMotd no',
    'PrintLastLog no',
    'AcceptEnv LANG LC_*',
    `SetEnv ${environment.join(' ')}`,
  ]
  // Of this one sshd takes the last.
  if (!extra.some((line) => /^\s*maxstartups\b/i.test(line))) lines.push('MaxStartups 100')
  const ownSubsystem = extra.some((line) => /^\s*subsystem\b/i.test(line))
  if (!ownSubsystem) lines.push(`Subsystem sftp internal-sftp -d ${startFolder}`)
  return `${lines.join('\n')}\n`
}

/**
 * The folder SFTP starts in, spelled so that sshd can be told: it splits the service's arguments at
 * spaces, quoted or not, and takes `%` for a token. The server still shows the real path.
 */
async function sftpStart(home: string): Promise<{ folder: string; release: () => Promise<void> }> {
  if (!/[\s%]/.test(home)) return { folder: home, release: () => Promise.resolve() }
  const aside = await mkdtemp(join(tmpdir(), 'presence-machine-'))
  await chmod(aside, 0o755)
  await symlink(home, join(aside, 'home'))
  return { folder: join(aside, 'home'), release: () => rm(aside, { recursive: true, force: true }) }
}

async function handOver(folder: string, user: string): Promise<void> {
  const id = async (flag: string): Promise<number> => {
    const { code, stdout, stderr } = await run(['id', flag, user])
    if (code !== 0) throw new Error(`there is no account ${user}: ${stderr.trim()}`)
    return Number(stdout.trim())
  }
  await chown(folder, await id('-u'), await id('-g'))
}
