/** Connects to one machine with the rooms that know SSH and machines, and nothing of DSH. */
import { statSync } from 'node:fs'
import { messageOf, systemCode } from '../../src/base/failure.ts'
import { diesWith, race } from '../../src/base/race.ts'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { Machine } from '../../src/remote/machine.ts'
import type { MachineSession } from '../../src/remote/session.ts'
import { Secrets } from '../../src/ssh/auth/secrets.ts'
import { listAliases, type AliasList } from '../../src/ssh/config/aliases.ts'
import {
  forecastSettings,
  previewSettings,
  resolveHop,
  resolveSettings,
} from '../../src/ssh/config/resolve.ts'
import { defaultSources } from '../../src/ssh/config/sources.ts'
import type { ConfigSources, MachineSettings } from '../../src/ssh/config/settings.ts'
import { ConnectionPool } from '../../src/ssh/connection/pool.ts'
import { ChannelError, ConnectError } from '../../src/ssh/errors.ts'
import type { Questions } from '../../src/ssh/questions.ts'
import { adviceFor } from './advice.ts'
import { roundTripsOf } from './measure.ts'
import type {
  ProbedCapabilities,
  ProbedConnection,
  ProbedSettings,
  ProbeFailure,
  ProbeResult,
  RoundTrips,
} from './result.ts'
import { Stopwatch } from './stopwatch.ts'

export interface ProbeOptions {
  readonly machine: string
  readonly questions: Questions
  /** False: nobody can be asked here, which a person may want to change. */
  readonly asked: boolean
  readonly signal: AbortSignal
  readonly env: NodeJS.ProcessEnv
  /** Told of what is waited for: a slow line takes its time. */
  readonly onProgress?: (doing: string) => void
  /** Milliseconds from being let in until the machine's abilities are known. */
  readonly limitMs?: number
}

const LIMIT_MS = 45_000

/** Never throws for what is wrong with the machine or the way to it: that is the result. */
export async function probe(options: ProbeOptions): Promise<ProbeResult> {
  const sources = defaultSources({ env: options.env })
  const names = listAliases(sources)
  const watch = new Stopwatch()
  let settings: MachineSettings | undefined
  const listed = names.aliases.includes(options.machine)
  const named = listed || (await isSaidWhere(options.machine, sources))
  const pool = new ConnectionPool({
    settings: async (machine, signal) => {
      if (!named) throw unknown(machine, names)
      return (settings = await resolveSettings(machine, sources, signal))
    },
    forecast: async (machine) => (named ? forecastSettings(machine, sources) : undefined),
    hopSettings: (hop, signal) => resolveHop(hop, sources, signal),
    questions: options.questions,
    secrets: new Secrets(),
    env: options.env,
    platform: process.platform,
  })
  const limitMs = options.limitMs ?? LIMIT_MS
  const late = new AbortController()
  const machine = new Machine(pool.connection(options.machine))
  machine.connection.changes.on((state) => {
    if (state.kind === 'connecting' && state.stage !== watch.stage) {
      options.onProgress?.(state.hop === undefined ? state.stage : `${state.stage} at ${state.hop}`)
    }
    if (state.kind === 'connecting' || state.kind === 'asking') watch.enter(state.stage)
    if (state.kind !== 'ready') return
    watch.enter('probe')
    options.onProgress?.('looking at what the machine has')
    // A server that refuses every channel is asked for one again and again; a probe has to end.
    setTimeout(() => late.abort(silent(options.machine, limitMs)), limitMs).unref()
  })
  const facts = (): Pick<ProbeResult, 'machine' | 'settings' | 'stages'> => ({
    machine: options.machine,
    settings: settings === undefined ? null : settingsOf(settings, names, sources),
    stages: watch.times,
  })
  let session: MachineSession | undefined
  let roundTrips: RoundTrips | null = null
  let failure: ProbeFailure | null = null
  try {
    session = await race(() => machine.session(options.signal), [diesWith(late.signal)])
    watch.stop()
    options.onProgress?.('measuring round trips')
    roundTrips = await roundTripsOf(machine, session, options.signal)
  } catch (error) {
    watch.stop()
    failure = failureOf(error, watch.stage, options)
  } finally {
    pool.close()
  }
  return {
    ...facts(),
    ok: failure === null,
    connection: session === undefined ? null : connectionOf(session),
    capabilities: session === undefined ? null : capabilitiesOf(session),
    roundTrips,
    warnings: [
      ...names.warnings,
      ...(named && !listed ? [unlisted(options.machine)] : []),
      ...(session?.link.facts.warnings ?? []),
      ...(session?.capabilities.warnings ?? []),
    ],
    failure,
  }
}

/** A pattern or a Match block tells where this name is, although no block has just this name. */
async function isSaidWhere(name: string, sources: ConfigSources): Promise<boolean> {
  try {
    return (await previewSettings(name, sources)).host !== name
  } catch (error) {
    if (error instanceof ConnectError) return false
    throw error
  }
}

function unlisted(name: string): string {
  return `no block of the SSH configuration has just this name, so Presence does not list it; write "${name}: { alias: ${name} }" into machines.yml`
}

/** Presence knows the names of the configuration and no others; whatever else `ssh` would make of one. */
function unknown(machine: string, { aliases, files }: AliasList): ConnectError {
  const names = aliases.length === 0 ? 'none' : aliases.join(', ')
  return new ConnectError(
    `no such machine in your SSH configuration (names in it: ${names}; read: ${files.filter(isFile).join(', ') || 'no file'})`,
    'unknown-machine',
    { machine, stage: 'config' },
  )
}

function silent(machine: string, limitMs: number): ConnectError {
  return new ConnectError(
    `it lets us in, but grants neither files nor commands within ${limitMs / 1000} s (MaxSessions 0, or an account for forwarding only?)`,
    'closed',
    { machine, stage: 'probe' },
  )
}

function failureOf(error: unknown, stage: string, { machine, asked }: ProbeOptions): ProbeFailure {
  return {
    stage: error instanceof ConnectError ? error.stage : stage,
    code: error instanceof ConnectError || error instanceof ChannelError ? error.code : 'failed',
    reason: messageOf(error),
    advice: adviceFor(error, machine, asked),
  }
}

function settingsOf(settings: MachineSettings, { files }: AliasList, sources: ConfigSources): ProbedSettings {
  return {
    host: settings.host,
    port: settings.port,
    user: settings.user,
    files: files.filter(isFile),
    resolvedBy: sources.sshProgram ?? null,
    identityFiles: settings.auth.identityFiles,
    knownHostsFiles: [...settings.hostKeys.userFiles, ...settings.hostKeys.globalFiles],
  }
}

/** The list also names files whose absence matters, and folders that wildcards were looked up in. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return false
  }
}

function connectionOf({ link }: MachineSession): ProbedConnection {
  const { address, ident, method, hostKey } = link.facts
  return {
    address,
    identification: ident,
    method,
    hostKey: hostKey === undefined ? null : { type: hostKey.type, sha256: hostKey.sha256 },
  }
}

function capabilitiesOf(session: MachineSession): ProbedCapabilities {
  const { capabilities, sftpAvailable, shell } = session
  const { loginShell } = capabilities
  const files = filesOf(capabilities)
  if (shell === undefined) {
    return { sftp: sftpAvailable, files, noCommands: whyNoCommands(session), loginShell, shell: null }
  }
  const { os, user, home, tmp, stat, find, confiner, locale, programs } = shell
  return {
    sftp: sftpAvailable,
    files,
    noCommands: null,
    loginShell,
    shell: {
      os,
      user,
      home: parseRemotePath(home),
      quoting: shell.loginShell,
      temporary: tmp,
      locale,
      stat,
      find,
      confinement: confiner?.means ?? null,
      programs: Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, path ?? null])),
    },
  }
}

function filesOf({ sftp, roots }: MachineSession['capabilities']): ProbedCapabilities['files'] {
  const start = roots.kind === 'unknown' ? null : roots.start
  if (sftp.kind !== 'sftp') {
    return { reason: sftp.reason, by: null, start, extensions: {}, sameAsCommands: roots.kind }
  }
  const { way, extensions } = sftp
  const by = way.kind === 'program' ? way.program : 'service'
  return { reason: null, by, start, extensions, sameAsCommands: roots.kind }
}

function whyNoCommands(session: MachineSession): string {
  try {
    session.requireShell()
    return ''
  } catch (error) {
    return messageOf(error)
  }
}
