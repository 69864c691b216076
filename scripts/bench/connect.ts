/**
 * How long until a machine can be used: connect and authenticate with a key, and the first command, beside
 * ssh2 with its defaults and the `ssh` program.
 */
import type { Link } from '../../src/ssh/connection/link.ts'
import type { Bench, Findings, Goal } from './bench.ts'
import { assertSsh, coldSsh, ourTrue, ssh2Ready, startMaster, withOurLink } from './clients.ts'
import { delayed, LOOPBACK, loopback, tellUnavailable, visit, type Place } from './places.ts'
import { inTurn, median, timed } from './rounds.ts'

const RTT_MS = 50
const FAR = `${RTT_MS} ms`

/** What a connect may take beside its round trips, in milliseconds: key exchange, signatures, processes. */
const WORK_MS = 80

const TRIPS = `connect and authenticate at ${FAR}, ${WORK_MS} ms for the work taken off`
const TO_SSH2 = `connect and authenticate at ${FAR}, to ssh2 with its defaults`
const FIRST_FAR = `connect and one command at ${FAR}, to a cold ssh`
const FIRST_NEAR = `connect and one command on ${LOOPBACK}, to a cold ssh`
const ALL_FAR = [TRIPS, TO_SSH2, FIRST_FAR]

const GOALS: readonly Goal[] = [
  { name: TRIPS, unit: 'round trips', bound: 'at most', goal: 8.5 },
  { name: TO_SSH2, unit: 'ratio', bound: 'at most', goal: 0.6 },
  { name: FIRST_FAR, unit: 'ratio', bound: 'at most', goal: 0.7 },
  { name: FIRST_NEAR, unit: 'ratio', bound: 'at most', goal: 0.4 },
]

export const connect: Bench = {
  name: 'connect',
  about: `connect, authenticate and run a first command, on ${LOOPBACK} and at ${FAR}`,
  goals: GOALS,
  rounds: 9,
  run: async (findings, { rounds }) => {
    assertSsh()
    await visit(loopback, findings, async (place) => {
      const { first, cold } = await measure(place, findings, rounds)
      findings.figure(FIRST_NEAR, first / cold)
    })
    try {
      await visit(
        () => delayed(RTT_MS),
        findings,
        async (place) => {
          const { roundTrip, ready, ssh2, first, cold } = await measure(place, findings, rounds)
          findings.figure(TRIPS, (ready - WORK_MS) / roundTrip)
          findings.figure(TO_SSH2, ready / ssh2)
          findings.figure(FIRST_FAR, first / cold)
        },
      )
    } catch (failure) {
      tellUnavailable(failure, findings, FAR, ALL_FAR)
    }
  },
}

interface Medians {
  readonly roundTrip: number
  readonly ready: number
  readonly ssh2: number
  readonly first: number
  readonly cold: number
}

/** Also what has no goal. */
interface AllMedians extends Medians {
  readonly ownReady: number
  readonly ownFirst: number
  readonly warm: number
  readonly mastered: number
}

async function measure(place: Place, findings: Findings, rounds: number): Promise<Medians> {
  const { server } = place
  const stages = new Map<string, number[]>()
  const add = (stage: string, ms: number): void => void stages.set(stage, [...(stages.get(stage) ?? []), ms])
  const onSettings = (ms: number): void => add('settings, by ssh -G', ms)
  const take = async ({ facts }: Link): Promise<void> =>
    facts.stages.forEach(({ stage, ms }) => add(stage, ms))
  const nothing = async (): Promise<void> => undefined
  const master = await startMaster(server)
  try {
    const medians = await withOurLink(server, (warm) =>
      inTurn(
        [
          { name: 'roundTrip', measure: () => place.roundTrip() },
          { name: 'ready', measure: () => timed(() => withOurLink(server, take, { onSettings })) },
          {
            name: 'ownReady',
            measure: () => timed(() => withOurLink(server, nothing, { ownConfig: true })),
          },
          { name: 'ssh2', measure: () => ssh2Ready(server) },
          { name: 'first', measure: () => timed(() => withOurLink(server, ourTrue)) },
          {
            name: 'ownFirst',
            measure: () => timed(() => withOurLink(server, ourTrue, { ownConfig: true })),
          },
          { name: 'cold', measure: () => timed(() => coldSsh(server)) },
          { name: 'warm', measure: () => timed(() => ourTrue(warm)) },
          { name: 'mastered', measure: () => timed(() => master.output('true')) },
        ],
        rounds,
      ),
    )
    tell(place, findings, medians, stages)
    return medians
  } finally {
    await master.stop()
  }
}

function tell(
  { label }: Place,
  findings: Findings,
  medians: AllMedians,
  stages: ReadonlyMap<string, readonly number[]>,
): void {
  const { roundTrip, ready, ownReady, ssh2, first, ownFirst, cold, warm, mastered } = medians
  const row = (what: string, who: string, ms: number, ours?: number): void =>
    findings.row({
      place: label,
      what,
      who,
      ms,
      roundTrips: label === LOOPBACK ? null : ms / roundTrip,
      ...(ours === undefined ? {} : { oursToThis: ours / ms }),
    })
  row('one TCP round trip', 'the line', roundTrip)
  row('connect and authenticate', 'ours', ready)
  row('connect and authenticate', 'ours, without ssh -G', ownReady, ready)
  row('connect and authenticate', 'ssh2, defaults', ssh2, ready)
  row('connect and one command', 'ours', first)
  row('connect and one command', 'ours, without ssh -G', ownFirst, first)
  row('connect and one command', 'ssh, cold', cold, first)
  row('one command, connected', 'ours', warm)
  row('one command, connected', 'ssh, ControlMaster', mastered, warm)
  for (const [stage, times] of stages) row(`of connecting: ${stage}`, 'ours', median(times))
}
