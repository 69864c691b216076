/** A machine behind a proxy that breaks the line, what is done with it, and what has to hold afterwards. */
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { PresenceError } from '../../../src/base/failure.ts'
import { parseRemotePath, type RemotePath } from '../../../src/base/remote-path.ts'
import { RemoteFiles } from '../../../src/remote/files/remote-files.ts'
import { Machine } from '../../../src/remote/machine.ts'
import { RemoteProcess } from '../../../src/remote/process/remote-process.ts'
import type { MachineSettings } from '../../../src/ssh/config/settings.ts'
import type { ConnectionState, MachineConnection } from '../../../src/ssh/connection/machine-connection.ts'
import type { ConnectionPool } from '../../../src/ssh/connection/pool.ts'
import type { Questions } from '../../../src/ssh/questions.ts'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { startProxy, type Proxy } from '../../support/proxy.ts'
import { poolFor, settingsFor } from '../../support/rig.ts'

export interface Line {
  readonly proxy: Proxy
  readonly pool: ConnectionPool
  readonly connection: MachineConnection
  readonly machine: Machine
  readonly files: RemoteFiles
  /** What differs in the settings of attempts from now on. */
  change: Partial<MachineSettings>
  /** Milliseconds that requests get on links that are made from now on; undefined: as in the product. */
  requestMs: number | undefined
  close(): Promise<void>
}

/** The host key is looked up under the server's own port. */
export function behind(server: DemoMachine, port: number): Partial<MachineSettings> {
  return { port, hostKeys: { ...settingsFor(server).hostKeys, alias: `[${server.host}]:${server.port}` } }
}

export async function lineTo(
  server: DemoMachine,
  change: Partial<MachineSettings> = {},
  questions?: Questions,
): Promise<Line> {
  const proxy = await startProxy(server)
  const pool = poolFor(
    () => settingsFor(server, { ...behind(server, proxy.port), ...line.change }),
    questions,
  )
  const connection = pool.connection(server.alias)
  const machine = new Machine(connection)
  const line: Line = {
    proxy,
    pool,
    connection,
    machine,
    files: new RemoteFiles(machine),
    change,
    requestMs: undefined,
    close: async () => {
      pool.close()
      await proxy.close()
    },
  }
  connection.changes.on((state) => {
    if (state.kind === 'ready' && line.requestMs !== undefined) state.link.requestMs = line.requestMs
  })
  return line
}

export function file(path: string): { readonly path: RemotePath; readonly shown: string } {
  return { path: parseRemotePath(path), shown: path }
}

/** Run a program to its end. */
export async function output(machine: Machine, argv: readonly string[], folder: string): Promise<string> {
  const process = new RemoteProcess(
    machine,
    { argv, folder: parseRemotePath(folder), env: {}, input: 'none', graceMs: 1000 },
    (_session, request) => request,
  )
  process.stderr.resume()
  const [printed, { exitCode }] = await Promise.all([text(process.stdout), process.done])
  expect(exitCode).toBe(0)
  return printed
}

/** How something ended. A call that is still under way after `ms` is a fault whatever comes of it later. */
export type Outcome<T> = { readonly value: T } | { readonly error: PresenceError }

export async function settled<T>(call: Promise<T>, ms: number, what: string): Promise<Outcome<T>> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not settle within ${ms} ms`)), ms)
  })
  try {
    return { value: await Promise.race([call, late]) }
  } catch (error) {
    if (error instanceof PresenceError) return { error }
    throw error
  } finally {
    clearTimeout(timer)
  }
}

export async function failureOf(call: Promise<unknown>): Promise<PresenceError> {
  const outcome = await settled(call, 30_000, 'what should fail')
  if ('error' in outcome) return outcome.error
  throw new Error(`no failure, but ${JSON.stringify(outcome.value)}`)
}

/** A state in which a connection may rest: nothing is under way, and what it says is so. */
export function expectTruthful(state: ConnectionState, where: string): void {
  switch (state.kind) {
    case 'failed':
      expect(state.reason, where).toMatch(/^demo: ./)
      expect(state.stage, where).toMatch(/^[a-z-]+$/)
      return
    case 'lost':
      expect(state.reason, where).toMatch(/^demo: ./)
      return
    case 'ready':
      expect(state.link.alive, where).toBe(true)
      return
    default:
      throw new Error(`${where}: the connection rests in ${JSON.stringify(state)}`)
  }
}

/** What escapes to the process, which would end DSH. Nothing may, as long as this listens. */
export function watchProcess(): { readonly escaped: readonly unknown[]; stop(): void } {
  const escaped: unknown[] = []
  const note = (error: unknown): void => void escaped.push(error)
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
  return {
    escaped,
    stop: () => {
      process.off('uncaughtException', note)
      process.off('unhandledRejection', note)
    },
  }
}
