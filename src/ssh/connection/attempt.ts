/**
 * One attempt to connect to a machine, from its settings to a live link: the way to it, hop by hop, each
 * with its own identity and its own host key. Fails with a typed error that names the stage and the hop.
 */
import { callerLeaves, diesWith, rest, race, type WayOut } from '../../base/race.ts'
import { collectIdentities } from '../auth/identities.ts'
import type { Secrets } from '../auth/secrets.ts'
import type { MachineSettings } from '../config/settings.ts'
import { ConnectError, CrowdedError, type Stage } from '../errors.ts'
import type { Question, Questions } from '../questions.ts'
import type { Carrier } from './carrier.ts'
import { dial } from './dial.ts'
import { algorithmsFor, handshake } from './handshake.ts'
import { HeadStart } from './head-start.ts'
import type { Link } from './link.ts'
import { runProxyCommand } from './proxy-command.ts'
import { planRoute, type HopSettings } from './route.ts'
import { StageClock } from './stage-clock.ts'
import { throughHop } from './through-hop.ts'

/** Default limit for each stage of a connect, in milliseconds; `ConnectTimeout` overrides it. */
const STAGE_LIMIT_MS = 15_000
/** A server that has too many connections at once closes new ones unheard; these milliseconds later it may not. */
const CROWDED_PAUSES_MS = [200, 600, 1500]
/** One that says that this is the reason is asked again and again, for so long. */
const CROWDED_PATIENCE_MS = 30_000
const LONGEST_CROWDED_PAUSE_MS = 1500

export interface ConnectDependencies {
  readonly settings: (machine: string, signal: AbortSignal) => Promise<MachineSettings>
  /** The settings as they most likely are, told at once and without running anything. */
  readonly forecast?: (machine: string) => Promise<MachineSettings | undefined>
  readonly hopSettings: (hop: string, signal: AbortSignal) => Promise<MachineSettings>
  readonly questions: Questions
  readonly secrets: Secrets
  readonly env: NodeJS.ProcessEnv
  readonly platform: NodeJS.Platform
}

/** How far an attempt has come. */
export interface Progress {
  readonly stage: Stage
  /** The jump host that this is about, when it is not the machine itself. */
  readonly hop: string | undefined
  /** What a person is being asked now. */
  readonly asking: Question['kind'] | undefined
}

/** @throws ConnectError; CancelledError when `signal` fires. */
export async function connectOnce(
  machine: string,
  dependencies: ConnectDependencies,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Link> {
  const { forecast, env, platform } = dependencies
  const headStart = new HeadStart(machine, { forecast, env, platform })
  try {
    return await connectAlong(machine, dependencies, headStart, onProgress, signal)
  } finally {
    headStart.drop()
  }
}

async function connectAlong(
  machine: string,
  dependencies: ConnectDependencies,
  headStart: HeadStart,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Link> {
  const target = await dependencies.settings(machine, signal)
  const hopSettings: HopSettings = (hop) =>
    dependencies.hopSettings(hop, signal).catch((error: unknown) => {
      throw atHop(error, target)
    })
  const route = await planRoute(target, hopSettings)
  const began = performance.now()
  let link: Link | undefined
  for (const settings of route) {
    const hop = settings === target ? undefined : settings.alias
    const waitedMs = performance.now() - began
    const step: Step = { settings, from: link, waitedMs, dependencies, headStart, signal, onProgress, hop }
    try {
      link = await connectWhenCrowded(step)
    } catch (error) {
      link?.end()
      throw hop === undefined ? error : atHop(error, target)
    }
  }
  if (link === undefined) throw new Error('a route has at least one machine')
  return link
}

/** One machine of a route. */
interface Step {
  readonly settings: MachineSettings
  /** The machine before it on the way. */
  readonly from: Link | undefined
  /** Milliseconds that the machines before it took. */
  readonly waitedMs: number
  readonly dependencies: ConnectDependencies
  /** Of the machine itself; it never fits a jump host. */
  readonly headStart: HeadStart
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
  readonly hop: string | undefined
}

async function connectWhenCrowded(step: Step): Promise<Link> {
  const began = performance.now()
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await connectStep(step)
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== 'crowded') throw error
      const waits = error instanceof CrowdedError && performance.now() - began < CROWDED_PATIENCE_MS
      const pauseMs = CROWDED_PAUSES_MS[attempt] ?? (waits ? LONGEST_CROWDED_PAUSE_MS : undefined)
      if (pauseMs === undefined) throw error
      await rest(pauseMs * (0.5 + Math.random()), callerLeaves(step.signal, `connecting to ${error.machine}`))
    }
  }
}

async function connectStep(step: Step): Promise<Link> {
  const { settings, dependencies, headStart, signal, hop } = step
  const report = (stage: Stage, asking?: Question['kind']): void => step.onProgress({ stage, hop, asking })
  const clock = new StageClock(settings.alias, settings.connectTimeoutMs ?? STAGE_LIMIT_MS, report)
  if (step.from !== undefined) clock.add('proxy', step.waitedMs)
  const ways = [...callerLeaves(signal, `connecting to ${settings.alias}`), diesWith(clock.expired)]
  try {
    // Everything that takes time and needs no server comes first: from the moment the socket is open,
    // what the server sends must find its reader.
    const [identities, algorithms] = await race(
      () =>
        Promise.all([
          clock.asking(
            async () =>
              (await headStart.identities(settings.auth)) ??
              collectIdentities(settings.auth, dependencies.env, dependencies.platform),
          ),
          algorithmsFor(settings),
        ]),
      ways,
    )
    const carrier = await carry(step, clock, ways)
    return await handshake({
      settings,
      carrier,
      identities,
      algorithms,
      secrets: dependencies.secrets,
      ask: async (question, over) => {
        report(clock.stage, question.kind)
        const answer = await clock.asking(() =>
          dependencies.questions.ask(question, AbortSignal.any([signal, over])),
        )
        report(clock.stage)
        return answer
      },
      clock,
      ways,
    })
  } finally {
    clock.stop()
  }
}

/** A connection that the configuration sends through a proxy is never dialled directly instead. */
async function carry(
  { settings, from, dependencies, headStart }: Step,
  clock: StageClock,
  ways: readonly WayOut[],
): Promise<Carrier> {
  if (from !== undefined) {
    clock.enter('proxy')
    return throughHop(from, settings, ways)
  }
  if (settings.proxyCommand === undefined) {
    const enter = (stage: Stage): void => clock.enter(stage)
    return (await headStart.carrier(settings, ways, enter)) ?? dial(settings, ways, enter)
  }
  clock.enter('proxy')
  return runProxyCommand(settings.proxyCommand, dependencies)
}

function atHop(error: unknown, target: MachineSettings): unknown {
  if (!(error instanceof ConnectError)) return error
  const { code, stage } = error
  return new ConnectError(`its jump host ${error.message}`, code, {
    machine: target.alias,
    stage,
    cause: error,
  })
}
