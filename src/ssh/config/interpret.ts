/**
 * From the printed form of a configuration to the settings of a machine: types, units, defaults, and the
 * expansions that `ssh` makes only when it connects.
 */
import { readAlgorithms, recogniseAlgorithms } from './algorithms.ts'
import { formatJumpHost, parseJumpHost } from './destination.ts'
import { allTokens, expandAll, expandTilde, expandTokens, proxyTokens, type Destination } from './expand.ts'
import type { LocalFacts } from './facts.ts'
import { isNone } from './keywords.ts'
import { firstOf, type Printed } from './printed.ts'
import { ConfigProblem } from './problem.ts'
import type {
  AgentChoice,
  AlgorithmChoice,
  AlgorithmSettings,
  AuthSettings,
  HostKeyPolicy,
  HostKeySettings,
  MachineSettings,
} from './settings.ts'

/** The configuration asks for something that Presence cannot do. */
export class UnsupportedConfig extends ConfigProblem {}

/** ssh_config(5), PreferredAuthentications. */
const PREFERRED = 'gssapi-with-mic,hostbased,publickey,keyboard-interactive,password'

/** ssh_config(5), IdentityFile. */
const IDENTITIES = ['rsa', 'ecdsa', 'ecdsa_sk', 'ed25519', 'ed25519_sk', 'xmss', 'dsa'].map(
  (type) => `~/.ssh/id_${type}`,
)

/**
 * @param defaults What the same source prints without any configuration, where it can tell: lists of
 *   algorithms are read as changes to its own.
 * @throws ConfigProblem when a value cannot be expanded or means nothing, UnsupportedConfig.
 */
export function interpret(
  typed: string,
  printed: Printed,
  facts: LocalFacts,
  defaults?: Printed,
): MachineSettings {
  const value = (keyword: string): string | undefined => firstOf(printed, keyword)
  const host = withoutBrackets(value('hostname') ?? typed)
  const destination: Destination = {
    typed,
    host,
    port: value('port') ?? '22',
    user: value('user') ?? facts.user,
    keyAlias: value('hostkeyalias'),
    jump: jumpOf(printed) ?? '',
  }
  refuseUnsupported(printed, host)
  const proxyJump = proxyJumpOf(printed, destination)
  const proxyCommand = value('proxycommand')
  return {
    alias: typed,
    host,
    port: Number(destination.port),
    user: destination.user,
    addressFamily: familyOf(value('addressfamily')),
    bindAddress: value('bindaddress'),
    connectTimeoutMs: milliseconds(value('connecttimeout')),
    keepaliveIntervalMs: keepaliveInterval(printed),
    keepaliveCountMax: Number(value('serveralivecountmax') ?? 3),
    hostKeys: hostKeysOf(printed, facts),
    auth: authOf(printed, destination, facts),
    algorithms: algorithmsOf(printed, defaults),
    proxyJump,
    proxyCommand:
      proxyCommand === undefined || isNone(proxyCommand) || proxyJump.length > 0
        ? undefined
        : expandTokens(proxyCommand, proxyTokens(destination)),
    setEnv: environmentOf(printed),
  }
}

function refuseUnsupported(printed: Printed, host: string): void {
  const command = firstOf(printed, 'proxycommand')
  const commanded = command !== undefined && !isNone(command)
  if (commanded && isYes(firstOf(printed, 'proxyusefdpass'))) {
    throw new UnsupportedConfig('ProxyUseFdpass is not supported')
  }
  if (!commanded && /^(unix|vsock)[/%]/.test(host)) {
    throw new UnsupportedConfig(`"${host}" is not a host of a network, which is not supported`)
  }
  const revoked = printed.get('revokedhostkeys') ?? []
  if (revoked.some((file) => !isNone(file))) {
    // Going on without the list would trust a key that its owner has withdrawn.
    throw new UnsupportedConfig('RevokedHostKeys is not supported; use @revoked lines in a known_hosts file')
  }
}

function jumpOf(printed: Printed): string | undefined {
  const jump = firstOf(printed, 'proxyjump')
  return jump === undefined || isNone(jump) ? undefined : jump
}

function proxyJumpOf(printed: Printed, destination: Destination): string[] {
  const jump = jumpOf(printed)
  if (jump === undefined) return []
  const hops = expandTokens(jump, proxyTokens(destination)).split(',')
  const parsed = hops.map((hop) => {
    const place = parseJumpHost(hop)
    if (place === undefined) throw new ConfigProblem(`ProxyJump names "${hop}", which is not a host`)
    return place
  })
  const last = parsed.at(-1)
  if (
    last?.host === destination.host &&
    (last.port ?? 22) === Number(destination.port) &&
    (last.user ?? destination.user) === destination.user
  ) {
    throw new ConfigProblem(`ProxyJump leads from ${destination.host} back to itself`)
  }
  return parsed.map(formatJumpHost)
}

function familyOf(value: string | undefined): MachineSettings['addressFamily'] {
  return value === 'inet' || value === 'inet6' ? value : 'any'
}

/** Milliseconds of a number of seconds; 0, `none` and nothing leave the time to our own default. */
function milliseconds(seconds: string | undefined): number | undefined {
  const value = Number(seconds)
  return Number.isFinite(value) && value > 0 ? value * 1000 : undefined
}

function keepaliveInterval(printed: Printed): number | undefined {
  const seconds = firstOf(printed, 'serveraliveinterval')
  // Debian's ssh puts 300 s there by itself in batch mode, which nobody has asked for.
  if (seconds === '300' && isYes(firstOf(printed, 'batchmode'))) return undefined
  return milliseconds(seconds)
}

function hostKeysOf(printed: Printed, facts: LocalFacts): HostKeySettings {
  return {
    policy: policyOf(firstOf(printed, 'stricthostkeychecking')),
    userFiles: (printed.get('userknownhostsfile') ?? []).map((file) => localPath(file, facts)),
    globalFiles: (printed.get('globalknownhostsfile') ?? []).map((file) => localPath(file, facts)),
    alias: firstOf(printed, 'hostkeyalias'),
    hashed: isYes(firstOf(printed, 'hashknownhosts')),
  }
}

function policyOf(value: string | undefined): HostKeyPolicy {
  if (value === 'accept-new') return value
  if (isYes(value)) return 'yes'
  return isNo(value) || value === 'off' ? 'no' : 'ask'
}

function authOf(printed: Printed, destination: Destination, facts: LocalFacts): AuthSettings {
  const value = (keyword: string): string | undefined => firstOf(printed, keyword)
  const tokens = allTokens(destination, facts)
  const paths = (files: readonly string[]): string[] => {
    const named = files.filter((file) => !isNone(file))
    const expanded = named.map((file) => expandAll(expandTilde(file, facts), tokens, facts.env))
    return [...new Set(expanded.map((file) => localPath(file, facts)))]
  }
  return {
    identityFiles: paths(printed.get('identityfile') ?? IDENTITIES),
    certificateFiles: paths(printed.get('certificatefile') ?? []),
    identitiesOnly: isYes(value('identitiesonly')),
    agent: agentOf(value('identityagent'), facts),
    ...pkcs11Of(value('pkcs11provider')),
    preferred: (value('preferredauthentications') ?? PREFERRED).split(',').filter((method) => method !== ''),
    publicKey: !isNo(value('pubkeyauthentication')),
    password: !isNo(value('passwordauthentication')),
    keyboardInteractive: !isNo(value('kbdinteractiveauthentication')),
    batchMode: isYes(value('batchmode')),
    passwordPrompts: Number(value('numberofpasswordprompts') ?? 3),
  }
}

function pkcs11Of(provider: string | undefined): Pick<AuthSettings, 'pkcs11Provider'> {
  return provider === undefined || isNone(provider) ? {} : { pkcs11Provider: provider }
}

function agentOf(value: string | undefined, facts: LocalFacts): AgentChoice {
  if (value === undefined || value === 'SSH_AUTH_SOCK') return { kind: 'environment' }
  if (value === 'none') return { kind: 'none' }
  if (!value.startsWith('$')) return { kind: 'path', path: localPath(value, facts) }
  const path = facts.env[value.slice(1)]
  // As ssh: a variable that is not set means that there is no agent.
  return path === undefined || path === '' ? { kind: 'none' } : { kind: 'path', path: localPath(path, facts) }
}

function algorithmsOf(printed: Printed, defaults: Printed | undefined): AlgorithmSettings {
  const choice = (keyword: string): AlgorithmChoice | undefined => {
    const list = firstOf(printed, keyword)
    const standard = defaults === undefined ? undefined : firstOf(defaults, keyword)
    if (list === undefined) return undefined
    return standard === undefined ? readAlgorithms(list) : recogniseAlgorithms(list, standard)
  }
  return {
    ciphers: choice('ciphers'),
    macs: choice('macs'),
    keyExchange: choice('kexalgorithms'),
    hostKeys: choice('hostkeyalgorithms'),
  }
}

function environmentOf(printed: Printed): Record<string, string> {
  const environment: [string, string][] = []
  for (const setting of printed.get('setenv') ?? []) {
    const at = setting.indexOf('=')
    const name = setting.slice(0, at)
    if (name !== '' && !environment.some(([known]) => known === name))
      environment.push([name, setting.slice(at + 1)])
  }
  return Object.fromEntries(environment)
}

/**
 * A path as Node opens it on Windows: `/c/Users` of a POSIX layer's `ssh` as `C:/Users`, and an agent's
 * pipe in its one valid spelling, whatever slashes are left of it after unescaping.
 */
function localPath(path: string, facts: LocalFacts): string {
  if (facts.platform !== 'win32') return path
  const pipe = /^[\\/]{1,4}\.[\\/]{1,2}pipe[\\/]{1,2}(.+)$/i.exec(path)?.[1]
  if (pipe !== undefined) return `\\\\.\\pipe\\${pipe}`
  return path.replace(/^\/([a-z])\//i, (_, drive: string) => `${drive.toUpperCase()}:/`)
}

function withoutBrackets(host: string): string {
  return /^\[(.*:.*)\]$/.exec(host)?.[1] ?? host
}

function isYes(value: string | undefined): boolean {
  return value === 'yes' || value === 'true'
}

function isNo(value: string | undefined): boolean {
  return value === 'no' || value === 'false'
}
