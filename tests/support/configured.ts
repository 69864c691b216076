/** Our connections by an OpenSSH configuration file, as the product makes them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../../scripts/project/programs.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { Secrets } from '../../src/ssh/auth/secrets.ts'
import { forecastSettings, resolveHop, resolveSettings } from '../../src/ssh/config/resolve.ts'
import type { ConfigSources } from '../../src/ssh/config/settings.ts'
import { ConnectionPool } from '../../src/ssh/connection/pool.ts'
import { NOBODY, type Questions } from '../../src/ssh/questions.ts'

export interface Configured {
  readonly pool: ConnectionPool
  readonly file: string
  stop(): void
}

export interface ConfiguredOptions {
  readonly questions?: Questions
  readonly env?: NodeJS.ProcessEnv
}

export function configured(text: string, options: ConfiguredOptions = {}): Configured {
  const folder = mkdtempSync('/var/tmp/presence-configured-')
  const file = join(folder, 'config')
  writeFileSync(file, text.replaceAll('%CONFIG%', file))
  const sources: ConfigSources = {
    onlyFile: file,
    userFile: file,
    systemFile: '/nonexistent',
    sshProgram: findProgram('ssh'),
  }
  const pool = new ConnectionPool({
    settings: (machine, signal) => resolveSettings(machine, sources, signal),
    forecast: (machine) => forecastSettings(machine, sources),
    hopSettings: (hop, signal) => resolveHop(hop, sources, signal),
    questions: options.questions ?? NOBODY,
    secrets: new Secrets(),
    env: options.env ?? { PATH: process.env['PATH'] },
    platform: 'linux',
  })
  return {
    pool,
    file,
    stop: () => {
      pool.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A block for a machine of ours; its own lines go before the usual ones, so that they win. */
export function block(name: string, machine: DemoMachine, ...lines: readonly string[]): string {
  const usual = [
    `HostName ${machine.host}`,
    `Port ${machine.port}`,
    `User ${machine.user}`,
    `IdentityFile ${machine.identityFile}`,
    'IdentitiesOnly yes',
    `UserKnownHostsFile ${machine.knownHostsFile}`,
    'GlobalKnownHostsFile none',
    'StrictHostKeyChecking yes',
  ]
  return [`Host ${name}`, ...[...lines, ...usual].map((line) => `  ${line}`), ''].join('\n')
}
