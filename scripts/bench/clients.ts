/**
 * Who is measured: our own connection as the product makes it, ssh2 with its defaults, and the `ssh`
 * program, cold or through a master. Each function is one use from nothing to its end.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import ssh2 from 'ssh2'
import { run, startChild } from '../project/children.ts'
import { findProgram } from '../project/programs.ts'
import { Secrets } from '../../src/ssh/auth/secrets.ts'
import { forecastSettings, resolveHop, resolveSettings } from '../../src/ssh/config/resolve.ts'
import { defaultSources } from '../../src/ssh/config/sources.ts'
import type { Exec, Link } from '../../src/ssh/connection/link.ts'
import { ConnectionPool } from '../../src/ssh/connection/pool.ts'
import { NOBODY } from '../../src/ssh/questions.ts'
import type { BenchServer } from './server.ts'

export interface OurWay {
  /** Instead of asking the `ssh` program, which takes a process. */
  readonly ownConfig?: boolean
  /** Told how long the settings took, in milliseconds. */
  readonly onSettings?: (ms: number) => void
}

/** Our connections to a server, by its configuration file, which is asked for at every connect. */
export function ourPool(server: BenchServer, { ownConfig = false, onSettings }: OurWay = {}): ConnectionPool {
  const sources = { ...defaultSources(), onlyFile: server.sshConfigFile }
  const chosen = ownConfig ? { ...sources, sshProgram: undefined } : sources
  return new ConnectionPool({
    settings: async (machine, signal) => {
      const began = performance.now()
      const settings = await resolveSettings(machine, chosen, signal)
      onSettings?.(performance.now() - began)
      return settings
    },
    forecast: (machine) => forecastSettings(machine, chosen),
    hopSettings: (hop, signal) => resolveHop(hop, chosen, signal),
    questions: NOBODY,
    secrets: new Secrets(),
    env: process.env,
    platform: process.platform,
  })
}

/** Connect, authenticate, use the link and close it. */
export async function withOurLink<T>(
  server: BenchServer,
  use: (link: Link) => Promise<T>,
  way: OurWay = {},
): Promise<T> {
  const pool = ourPool(server, way)
  try {
    return await use(await pool.connection(server.alias).link())
  } finally {
    pool.close()
  }
}

/** The command `true` in a channel of its own, from the request to its exit. */
export async function ourTrue(on: { readonly exec: Exec }): Promise<void> {
  const channel = await on.exec('true')
  channel.stdout.resume()
  channel.stderr.resume()
  const { exitCode } = await channel.exit
  if (exitCode !== 0) throw new Error(`true ended with ${String(exitCode)}`)
}

/** ssh2 as its manual connects; @returns milliseconds until it is ready. */
export async function ssh2Ready(server: BenchServer): Promise<number> {
  const privateKey = await readFile(server.identityFile)
  const client = new ssh2.Client()
  const began = performance.now()
  client.connect({ host: server.host, port: server.port, username: server.user, privateKey })
  await once(client, 'ready')
  const ms = performance.now() - began
  client.end()
  return ms
}

/** `ssh host true` as a new process and a new connection. */
export async function coldSsh(server: BenchServer): Promise<void> {
  await succeed(['ssh', '-F', server.sshConfigFile, server.alias, 'true'])
}

export interface Master {
  /** Options of `ssh` and `sftp` by which they go over its connection; the host is to follow. */
  readonly options: readonly string[]
  /**
   * A command line as `ssh host …`, a new process over the master's connection.
   * @returns what it printed. @throws when it did not end with exit code 0.
   */
  output(command: string): Promise<string>
  stop(): Promise<void>
}

/** A connection that `ssh` processes share (ssh_config(5), ControlMaster). */
export async function startMaster(server: BenchServer): Promise<Master> {
  const socket = join(server.folder, 'master')
  const options = ['-F', server.sshConfigFile, '-o', `ControlPath=${socket}`]
  const master = await startChild(['ssh', ...options, '-M', '-N', server.alias])
  const until = Date.now() + 15_000
  while (!existsSync(socket)) {
    if (Date.now() > until) throw new Error('the ssh master did not come up')
    await new Promise((resume) => setTimeout(resume, 20))
  }
  const output = (command: string): Promise<string> => succeed(['ssh', ...options, server.alias, command])
  return { options, output, stop: () => master.stop() }
}

export function assertSsh(): void {
  if (findProgram('ssh') === undefined) throw new Error('there is no ssh program to compare with')
}

async function succeed(argv: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(argv)
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr.trim()}`)
  return stdout
}
