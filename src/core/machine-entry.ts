/**
 * One entry of `machines.yml`: either a machine of its own (`host`, …), which takes nothing from the
 * OpenSSH configuration, or a reference to an alias with some values of its own.
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { AuthSettings, MachineSettings } from '../ssh/config/settings.ts'

export interface MachineEntry {
  readonly alias: string | undefined
  readonly host: string | undefined
  readonly port: number | undefined
  readonly user: string | undefined
  readonly identityFiles: readonly string[]
  readonly knownHostsFile: string | undefined
  readonly unconfined: boolean
}

/** The entry, or a sentence that says what is wrong with it. */
export function parseMachineEntry(name: string, value: unknown): MachineEntry | string {
  if (!/^[^\s/\\\u0000-\u001f]+$/.test(name) || name === '.' || name === '..') {
    return `"${name}" cannot be the name of a machine`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${name}: a map is expected`
  const fields = new Map<string, unknown>(Object.entries(value))
  const problems: string[] = []
  const text = (key: string): string | undefined => {
    const field = fields.get(key)
    if (field === undefined || field === null) return undefined
    if (typeof field === 'string' && field !== '') return field
    problems.push(`${key} must be a text`)
    return undefined
  }
  const port = fields.get('port')
  if (
    port !== undefined &&
    (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535)
  ) {
    problems.push('port must be a number from 1 to 65535')
  }
  const unconfined = fields.get('unconfined')
  if (unconfined !== undefined && typeof unconfined !== 'boolean')
    problems.push('unconfined must be true or false')
  const identityFile = fields.get('identityFile')
  const identityFiles = (Array.isArray(identityFile) ? identityFile : [identityFile]).filter(
    (path): path is string => typeof path === 'string',
  )
  const entry: MachineEntry = {
    alias: text('alias'),
    host: text('host'),
    port: typeof port === 'number' ? port : undefined,
    user: text('user'),
    identityFiles: identityFiles.map(expandHome),
    knownHostsFile: text('knownHostsFile'),
    unconfined: unconfined === true,
  }
  const known = ['alias', 'host', 'port', 'user', 'identityFile', 'knownHostsFile', 'unconfined']
  for (const key of fields.keys()) if (!known.includes(key)) problems.push(`${key} is not a setting`)
  return problems.length === 0 ? entry : `${name}: ${problems.join('; ')}`
}

/** The settings of an entry; `base` are those of the alias that it refers to (its own name by default). */
export function settingsOfEntry(
  name: string,
  entry: MachineEntry,
  base: MachineSettings | undefined,
  local: { readonly home: string; readonly user: string },
): MachineSettings {
  const from = base ?? ownSettings(local)
  return {
    ...from,
    alias: name,
    host: entry.host ?? base?.host ?? name,
    port: entry.port ?? from.port,
    user: entry.user ?? from.user,
    auth:
      entry.identityFiles.length === 0
        ? from.auth
        : { ...from.auth, identityFiles: entry.identityFiles, identitiesOnly: true },
    hostKeys:
      entry.knownHostsFile === undefined
        ? from.hostKeys
        : { ...from.hostKeys, userFiles: [expandHome(entry.knownHostsFile)], globalFiles: [] },
  }
}

/** What OpenSSH assumes without any configuration (ssh_config(5)). */
function ownSettings(local: {
  readonly home: string
  readonly user: string
}): Omit<MachineSettings, 'alias' | 'host'> {
  const ssh = (name: string): string => join(local.home, '.ssh', name)
  const auth: AuthSettings = {
    identityFiles: ['id_rsa', 'id_ecdsa', 'id_ed25519'].map(ssh),
    certificateFiles: [],
    identitiesOnly: false,
    agent: { kind: 'environment' },
    preferred: ['publickey', 'keyboard-interactive', 'password'],
    publicKey: true,
    password: true,
    keyboardInteractive: true,
    batchMode: false,
    passwordPrompts: 3,
  }
  return {
    port: 22,
    user: local.user,
    addressFamily: 'any',
    bindAddress: undefined,
    connectTimeoutMs: undefined,
    keepaliveIntervalMs: undefined,
    keepaliveCountMax: 3,
    hostKeys: {
      policy: 'ask',
      userFiles: [ssh('known_hosts'), ssh('known_hosts2')],
      globalFiles: ['/etc/ssh/ssh_known_hosts', '/etc/ssh/ssh_known_hosts2'],
      alias: undefined,
      hashed: false,
    },
    auth,
    algorithms: { ciphers: undefined, macs: undefined, keyExchange: undefined, hostKeys: undefined },
    proxyJump: [],
    proxyCommand: undefined,
    setEnv: {},
  }
}

function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path
}
