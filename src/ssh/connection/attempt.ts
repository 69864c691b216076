/**
 * One attempt to connect: settings, socket, handshake, host key, authentication, in the order they
 * happen. Answers with a live link, or fails with a typed error that names the stage.
 */
import type { Socket } from 'node:net'
import { once } from 'node:events'
import ssh2, { type AnyAuthMethod, type ConnectConfig } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import { callerLeaves, diesWith, race, type WayOut } from '../../base/race.ts'
import { offer, preferKnownTypes } from '../algorithms.ts'
import { Authenticator } from '../auth/authenticator.ts'
import { collectIdentities, type Identities } from '../auth/identities.ts'
import type { Secrets } from '../auth/secrets.ts'
import type { MachineSettings } from '../config/settings.ts'
import { ConnectError, type Stage } from '../errors.ts'
import type { Questions } from '../questions.ts'
import { checkHostKey, keyTargetOf, type TrustedKey } from '../trust/host-key-check.ts'
import { knownKeyTypes } from '../trust/verdict.ts'
import { dial } from './dial.ts'
import { Link } from './link.ts'
import { StageClock } from './stage-clock.ts'

/** Default limit for each stage of a connect, in milliseconds; `ConnectTimeout` overrides it. */
const STAGE_LIMIT_MS = 15_000
/** Keepalive as the product promises it: a dead line is noticed after 45 s at the latest. */
const KEEPALIVE_INTERVAL_MS = 15_000
const KEEPALIVE_COUNT = 3

export interface ConnectDependencies {
  readonly settings: (machine: string, signal: AbortSignal) => Promise<MachineSettings>
  readonly questions: Questions
  readonly secrets: Secrets
  readonly env: NodeJS.ProcessEnv
  readonly platform: NodeJS.Platform
}

/** @throws ConnectError; CancelledError when `signal` fires. */
export async function connectOnce(
  machine: string,
  dependencies: ConnectDependencies,
  onStage: (stage: Stage) => void,
  signal: AbortSignal,
): Promise<Link> {
  const settings = await dependencies.settings(machine, signal)
  refuseProxies(settings)
  const clock = new StageClock(machine, settings.connectTimeoutMs ?? STAGE_LIMIT_MS, onStage)
  const ways = [...callerLeaves(signal, `connecting to ${machine}`), diesWith(clock.expired)]
  try {
    // Everything that takes time and needs no server comes first: from the moment the socket is open,
    // what the server sends must find its reader.
    const [identities, algorithms] = await race(
      () =>
        Promise.all([
          collectIdentities(settings.auth, dependencies.env, dependencies.platform),
          algorithmsFor(settings),
        ]),
      ways,
    )
    const socket = await dial(settings, ways, (stage) => clock.enter(stage))
    return await handshake({ settings, socket, identities, algorithms, dependencies, clock, ways, signal })
  } finally {
    clock.stop()
  }
}

/** A connection that the configuration sends through a proxy is never dialled directly instead. */
function refuseProxies(settings: MachineSettings): void {
  const what =
    settings.proxyJump.length > 0
      ? `ProxyJump ${settings.proxyJump.join(',')}`
      : settings.proxyCommand === undefined
        ? undefined
        : 'ProxyCommand'
  if (what === undefined) return
  throw new ConnectError(`its configuration uses ${what}, which this version cannot do yet`, 'unsupported', {
    machine: settings.alias,
    stage: 'proxy',
  })
}

interface Handshake {
  readonly settings: MachineSettings
  readonly socket: Socket
  readonly identities: Identities
  readonly algorithms: Algorithms
  readonly dependencies: ConnectDependencies
  readonly clock: StageClock
  readonly ways: readonly WayOut[]
  readonly signal: AbortSignal
}

async function handshake(attempt: Handshake): Promise<Link> {
  const { settings, socket, identities, algorithms, dependencies, clock, ways, signal } = attempt
  const client = new ssh2.Client()
  const failed = new AbortController()
  // Whatever goes wrong first is the cause; later echoes of it (a closed socket) are not.
  const fail = (error: unknown): void => failed.abort(error)
  const ask = (question: Parameters<Questions['ask']>[0]): ReturnType<Questions['ask']> =>
    clock.asking(() => dependencies.questions.ask(question, signal))
  const authenticator = new Authenticator(settings, identities, dependencies.secrets, ask)
  let trusted: TrustedKey | undefined
  let ident = ''

  clock.enter('banner')
  socket.once('data', (first: Buffer) => {
    ident = /^SSH-[^\r\n]*/m.exec(first.toString('latin1'))?.[0] ?? ''
    clock.enter('key-exchange')
  })
  client.on('error', (error) => fail(asConnectError(settings, clock.stage, error)))
  client.on('close', () =>
    fail(asConnectError(settings, clock.stage, new Error('the server closed the connection'))),
  )
  client.on('handshake', () => clock.enter('auth'))

  const config: ConnectConfig = {
    sock: socket,
    username: settings.user,
    readyTimeout: 0,
    keepaliveInterval: settings.keepaliveIntervalMs ?? KEEPALIVE_INTERVAL_MS,
    keepaliveCountMax: settings.keepaliveCountMax ?? KEEPALIVE_COUNT,
    algorithms,
    hostVerifier: (key: Buffer, verify: (valid: boolean) => void) => {
      clock.enter('host-key')
      checkHostKey(key, settings, ask).then(
        (key) => {
          trusted = key
          if (!key.secretsAllowed) authenticator.withholdSecrets()
          verify(true)
        },
        (error: unknown) => {
          fail(error)
          verify(false)
        },
      )
    },
    authHandler: (
      accepted: readonly string[] | null,
      partial: boolean | null,
      next: (auth: never) => void,
    ) => {
      authenticator.next(accepted ?? undefined, partial === true).then(
        (method: AnyAuthMethod) => next(method as never),
        (error: unknown) => {
          fail(error)
          next(false as never)
        },
      )
    },
  } as ConnectConfig
  try {
    client.connect(config)
    await race(() => once(client, 'ready'), [...ways, diesWith(failed.signal)])
  } catch (error) {
    client.on('error', (_givenUp) => undefined)
    client.destroy()
    throw error
  }
  authenticator.succeeded()
  clock.stop()
  return new Link(client, socket, {
    machine: settings.alias,
    settings,
    hostKey: trusted?.key,
    warnings: trusted?.warnings ?? [],
    ident,
    method: authenticator.method,
    stages: clock.times,
    address: `${socket.remoteAddress ?? settings.host}:${socket.remotePort ?? settings.port}`,
  })
}

type Algorithms = NonNullable<ConnectConfig['algorithms']>

async function algorithmsFor(settings: MachineSettings): Promise<Algorithms> {
  const { algorithms, alias, hostKeys } = settings
  const known = await knownKeyTypes(keyTargetOf(settings), {
    user: hostKeys.userFiles,
    global: hostKeys.globalFiles,
  })
  return {
    kex: offer('kex', algorithms.keyExchange, alias),
    cipher: offer('cipher', algorithms.ciphers, alias),
    hmac: offer('hmac', algorithms.macs, alias),
    serverHostKey: preferKnownTypes(offer('serverHostKey', algorithms.hostKeys, alias), known),
  } as Algorithms
}

function asConnectError(settings: MachineSettings, stage: Stage, error: Error): ConnectError {
  const details = { machine: settings.alias, stage, cause: error }
  const text = messageOf(error)
  if (/no matching|no compatible/i.test(text)) {
    return new ConnectError(`no algorithm in common with the server: ${text}`, 'no-common-algorithm', details)
  }
  if (stage === 'banner') {
    return new ConnectError(
      `${settings.host} port ${settings.port} does not speak SSH: ${text}`,
      'not-ssh',
      details,
    )
  }
  return new ConnectError(`the connection broke: ${text}`, 'closed', details)
}
