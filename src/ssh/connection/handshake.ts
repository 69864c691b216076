/**
 * From an open stream to a live link: key exchange, host key, authentication. Fails with a typed error
 * that names the stage, and leaves nothing of a failed attempt behind.
 */
import ssh2, { type AnyAuthMethod, type ConnectConfig } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import { diesWith, rest, race, type WayOut } from '../../base/race.ts'
import { offer, preferKnownTypes } from '../algorithms.ts'
import { Authenticator } from '../auth/authenticator.ts'
import type { Identities } from '../auth/identities.ts'
import type { Ask } from '../auth/person.ts'
import type { Secrets } from '../auth/secrets.ts'
import type { StandStill } from '../auth/server-decides.ts'
import type { MachineSettings } from '../config/settings.ts'
import { ConnectError, CrowdedError, type Stage } from '../errors.ts'
import { checkHostKey, keyTargetOf, type TrustedKey } from '../trust/host-key-check.ts'
import { knownKeyTypes } from '../trust/verdict.ts'
import type { Carrier } from './carrier.ts'
import { Link } from './link.ts'
import { readIdent, type IdentReader } from './ident.ts'
import { useKeyObjects } from './key-objects.ts'
import type { StageClock } from './stage-clock.ts'

/** Keepalive as the product promises it: a dead line is noticed after 45 s at the latest. */
const KEEPALIVE_INTERVAL_MS = 15_000
const KEEPALIVE_COUNT = 3
/** A carrier that broke knows why by then. */
const FATE_MS = 1000

export type Algorithms = NonNullable<ConnectConfig['algorithms']>

export interface Handshake {
  readonly settings: MachineSettings
  readonly carrier: Carrier
  readonly identities: Identities
  readonly algorithms: Algorithms
  readonly secrets: Secrets
  /** Asks a person; `over` fires when the answer is no longer needed. */
  readonly ask: (question: Parameters<Ask>[0], over: AbortSignal) => ReturnType<Ask>
  readonly clock: StageClock
  readonly ways: readonly WayOut[]
}

/** What to offer for this machine; its known keys decide which host key is asked for. */
export async function algorithmsFor(settings: MachineSettings): Promise<Algorithms> {
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

/** @throws ConnectError; what `ways` throw. The carrier is closed then. */
export async function handshake(attempt: Handshake): Promise<Link> {
  const { settings, carrier, identities, algorithms, secrets, clock, ways } = attempt
  const client = new ssh2.Client()
  const failed = new AbortController()
  const ident = readIdent(carrier.stream, () => clock.enter('key-exchange'))
  // Whatever goes wrong first is the cause; later echoes of it (a closed socket) are not.
  const fail = (error: unknown): void => failed.abort(error)
  const broken = (error: Error): void => {
    const refused = clock.stage === 'auth' ? authenticator.cutOff(error) : undefined
    fail(refused ?? asConnectError(settings, clock.stage, error, ident))
  }
  const ask: Ask = (question) => attempt.ask(question, failed.signal)
  const standStill: StandStill = (work) => clock.standStill(work)
  const authenticator = new Authenticator({ settings, identities, secrets, ask, standStill })
  let trusted: TrustedKey | undefined
  let shown: Buffer | undefined
  let banner = ''

  clock.enter('banner')
  client.on('error', (error) => {
    if (!isOneOffers(error)) broken(error)
  })
  client.on('close', () => broken(new Error('the server closed the connection')))
  client.on('handshake', () => {
    useKeyObjects(client)
    clock.enter('auth')
  })
  client.on('banner', (text: string) => {
    banner += text
  })

  const keepaliveMs = settings.keepaliveIntervalMs ?? KEEPALIVE_INTERVAL_MS
  const config: ConnectConfig = {
    sock: carrier.stream,
    username: settings.user,
    readyTimeout: 0,
    keepaliveInterval: keepaliveMs,
    keepaliveCountMax: settings.keepaliveCountMax ?? KEEPALIVE_COUNT,
    algorithms,
    hostVerifier: (key: Buffer, verify: (valid: boolean) => void): boolean | undefined => {
      // New keys are agreed upon every now and then, and the host key is shown each time. It stays the one
      // that was trusted; and ssh2 breaks a connection with data on its way whose answer is not there at once.
      if (shown !== undefined) return shown.equals(key)
      clock.enter('host-key')
      checkHostKey(key, settings, ask).then(
        (verdict) => {
          trusted = verdict
          shown = Buffer.from(key)
          if (!verdict.secretsAllowed) authenticator.withholdSecrets()
          verify(true)
        },
        (error: unknown) => {
          fail(error)
          verify(false)
        },
      )
      return undefined
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
    authenticator.attach(client, fail)
    const ready = new Promise<void>((resolve) => client.once('ready', () => resolve()))
    await race(() => ready, [...ways, diesWith(failed.signal)])
  } catch (error) {
    fail(error)
    client.on('error', (_givenUp) => undefined)
    const why = failed.signal.reason === error ? await fateOf(carrier) : undefined
    client.destroy()
    carrier.close()
    throw why === undefined ? error : withFate(error, why, settings)
  }
  authenticator.succeeded()
  clock.stop()
  return new Link(client, carrier, {
    machine: settings.alias,
    settings,
    keepaliveMs,
    hostKey: trusted?.key,
    warnings: trusted?.warnings ?? [],
    ident: ident.line,
    method: authenticator.method,
    stages: clock.times,
    address: carrier.address,
    greeting: ident.before + banner,
  })
}

/** A signature that could not be had: the authenticator knows, and goes on with the next key. */
function isOneOffers(error: Error): boolean {
  return 'level' in error && (error.level === 'agent' || error.level === 'client-authentication')
}

/** What the carrier tells of its end, when it has ended: a moment later than its stream. */
async function fateOf(carrier: Carrier): Promise<string | undefined> {
  if (!carrier.stream.readableEnded && !carrier.stream.destroyed) return undefined
  await Promise.race([carrier.ended, rest(FATE_MS)])
  return carrier.fate()
}

function withFate(error: unknown, why: string, { alias }: MachineSettings): unknown {
  if (!(error instanceof ConnectError)) return error
  return new ConnectError(why, 'unreachable', { machine: alias, stage: error.stage, cause: error })
}

function asConnectError(
  settings: MachineSettings,
  stage: Stage,
  error: Error,
  ident: IdentReader,
): ConnectError {
  const details = { machine: settings.alias, stage, cause: error }
  const text = messageOf(error)
  const where = `${settings.host} port ${settings.port}`
  if (/no matching|no compatible/i.test(text)) {
    return new ConnectError(`no algorithm in common with the server: ${text}`, 'no-common-algorithm', details)
  }
  if (stage !== 'banner') return new ConnectError(`the connection broke: ${text}`, 'closed', details)
  const said = ident.before.trim()
  if (/exceeded maxstartups/i.test(said)) {
    return new CrowdedError(`${where} has too many connections coming in at once`, 'crowded', details)
  }
  if (said === '') {
    return new ConnectError(
      `${where} closed the connection before it said who it is ` +
        '(it may have too many connections, or refuse this address)',
      'crowded',
      details,
    )
  }
  return new ConnectError(
    `${where} does not speak SSH: it says ${JSON.stringify(said.slice(0, 200))}`,
    'not-ssh',
    details,
  )
}
