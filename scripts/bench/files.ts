/**
 * Work on files as an agent's host does it, beside everybody else who works on files over SSH: on
 * loopback and at several distances, on a machine with commands and on one with SFTP alone.
 */
import type { Bench, Findings } from './bench.ts'
import { assertSsh } from './clients.ts'
import type { Frame } from './entries.ts'
import { FAR_MOVES } from './files/bulk.ts'
import { contest, rate, type Heat, type Taken } from './files/contest.ts'
import { gather, type Contestants } from './files/contestants.ts'
import { askDuringMoves } from './files/during.ts'
import { BULK_MTU, FAR, FAR_GOALS, FAR_MS, GOALS, tellFigures } from './files/goals.ts'
import { Ground } from './files/ground.ts'
import { allHeats, farMoves, fewHeats, longList, nearMoves, probing, slowProbing } from './files/heats.ts'
import { delayed, LOOPBACK, loopback, tellUnavailable, visit, type Place } from './places.ts'

interface Measuring {
  readonly place: Place
  readonly who: Contestants
  readonly ground: Ground
  readonly findings: Findings
  /** @param what - for the person who waits. */
  take(what: string, heats: readonly Heat[], frame: Frame): Promise<void>
}

/** How often the parts of the bench are measured, and how long each may take. */
interface Schedule {
  readonly small: number
  /** For what takes longer. */
  readonly few: number
  /** Of the large files: nothing is warmed up for them, and each takes seconds. */
  readonly large: number
  frame(rounds: number, atMostSeconds: number): Frame
}

type Use = (measuring: Measuring, schedule: Schedule) => Promise<void>

const ROUNDS = 5

export const files: Bench = {
  name: 'files',
  about: `read, write, edit, list and move files, on ${LOOPBACK} and at 10, ${FAR_MS} and 100 ms`,
  goals: GOALS,
  rounds: ROUNDS,
  run: async (findings, { rounds }) => {
    assertSsh()
    const ground = await Ground.make()
    const schedule = scheduleOf(rounds)
    const at = (start: () => Promise<Place>, use: Use): Promise<void> =>
      visit(start, findings, (place) =>
        measure(place, ground, findings, (measuring) => use(measuring, schedule)),
      )
    const line = (rttMs: number, mtu?: number) => () => delayed(rttMs, mtu)
    try {
      await at(loopback, near)
      await ground.forgetLarge()
      await at(line(10), shortly)
      await at(line(FAR_MS), far)
      await at(line(FAR_MS, BULK_MTU), large)
      await at(line(100), shortly)
    } catch (failure) {
      tellUnavailable(failure, findings, FAR, FAR_GOALS)
    } finally {
      await ground.stop()
    }
  },
}

/** More rounds get more time. */
function scheduleOf(rounds: number): Schedule {
  const share = rounds / ROUNDS
  return {
    small: rounds,
    few: Math.ceil(rounds / 2),
    large: Math.ceil(2 * share),
    frame: (times, seconds) => ({ rounds: times, atMostSeconds: seconds * share }),
  }
}

const near: Use = async ({ who, take }, { small, few, large: times, frame }) => {
  await take('small files', allHeats(who), frame(small, 40))
  await take('looking around', probing(who, few), frame(few, 10))
  await take('a long list', longList(who), frame(few, 10))
  await take('large files', nearMoves(who, times), frame(times, 20))
}

const far: Use = async ({ who, take }, { small, few, frame }) => {
  await take('small files', allHeats(who), frame(small, 100))
  await take('looking around', probing(who, few), frame(few, 10))
  await take('a long list', longList(who), frame(few, 25))
  await take('six slow steps', slowProbing(who), frame(1, 20))
}

const shortly: Use = async ({ who, take }, { few, frame }) => {
  await take('small files', fewHeats(who), frame(few, 30))
  await take('looking around', probing(who, few), frame(few, 10))
}

const large: Use = async (measuring, { large: times, frame }) => {
  const { place, who, ground, findings, take } = measuring
  await tellLine(measuring)
  await take('large files', farMoves(who, times), frame(times, 60))
  findings.progress('  small questions during large files …')
  await askDuringMoves(place, findings, ground, who.ours)
}

async function measure(
  place: Place,
  ground: Ground,
  findings: Findings,
  use: (measuring: Measuring) => Promise<void>,
): Promise<void> {
  const line = { place: place.label, what: 'one TCP round trip', who: 'the line', roundTrips: null }
  findings.row({ ...line, ms: await place.roundTrip() })
  const who = await gather(place, ground, findings)
  const taken: Taken[] = []
  const take: Measuring['take'] = async (what, heats, frame) => {
    findings.progress(`  ${what} …`)
    taken.push(...(await contest(place, findings, ground, heats, frame)))
  }
  try {
    await use({ place, who, ground, findings, take })
    tellFigures(findings, taken)
  } finally {
    await who.stop()
  }
}

/** What no transfer at this place can exceed. */
async function tellLine({ place, findings }: Measuring): Promise<void> {
  for (const { direction, task } of FAR_MOVES) {
    const bytes = task.mib * 2 ** 20
    // The process between the ends of the line has to warm up.
    await place.poured(direction, bytes)
    const ms = await place.poured(direction, bytes)
    const row = { place: place.label, what: task.what, who: 'TCP alone', ms, roundTrips: null }
    findings.row({ ...row, note: rate(task.mib, ms) })
  }
}
