/**
 * Work on files as an agent's host does it, beside everybody else who works on files over SSH: on
 * loopback and at several distances, on a machine with commands and on one with SFTP alone.
 */
import { BedUnavailable } from '../bed/bed.ts'
import type { Bench, Findings } from './bench.ts'
import { assertSsh } from './clients.ts'
import { FAR_MOVES } from './files/bulk.ts'
import { contest, rate, type Heat, type Taken } from './files/contest.ts'
import { gather, type Contestants } from './files/contestants.ts'
import { askDuringMoves } from './files/during.ts'
import { BULK_MTU, FAR, FAR_GOALS, FAR_MS, GOALS, tellFigures } from './files/goals.ts'
import { Ground } from './files/ground.ts'
import { allHeats, farMoves, fewHeats, longList, nearMoves, slowProbing } from './files/heats.ts'
import { delayed, LOOPBACK, loopback, type Place } from './places.ts'

interface Measuring {
  readonly place: Place
  readonly who: Contestants
  readonly ground: Ground
  readonly findings: Findings
  /** @param what - for the person who waits. */
  take(what: string, heats: readonly Heat[], rounds: number): Promise<void>
}

type Use = (measuring: Measuring) => Promise<void>

export const files: Bench = {
  name: 'files',
  about: `read, write, edit, list and move files, on ${LOOPBACK} and at 10, ${FAR_MS} and 100 ms`,
  goals: GOALS,
  rounds: 5,
  run: async (findings, { rounds }) => {
    assertSsh()
    const few = Math.ceil(rounds / 2)
    const ground = await Ground.make()
    const at = (start: () => Promise<Place>, use: Use): Promise<void> => visit(start, ground, findings, use)
    const line = (rttMs: number, mtu?: number) => () => delayed(rttMs, mtu)
    const shortly: Use = ({ who, take }) => take('small files', fewHeats(who), few)
    try {
      await at(loopback, async ({ who, take }) => {
        await take('small files', allHeats(who), rounds)
        await take('a long list', longList(who), few)
        await take('large files', nearMoves(who), few)
      })
      await ground.forgetLarge()
      await at(line(10), shortly)
      await at(line(FAR_MS), async ({ who, take }) => {
        await take('small files', allHeats(who), rounds)
        await take('a long list', longList(who), few)
        await take('six slow steps', slowProbing(who), 1)
      })
      await at(line(FAR_MS, BULK_MTU), (measuring) => bulk(measuring, few))
      await at(line(100), shortly)
    } catch (failure) {
      if (!(failure instanceof BedUnavailable)) throw failure
      findings.notMeasured(FAR_GOALS, failure.message)
      const unmeasured = { place: FAR, ms: null, roundTrips: null, note: failure.message }
      findings.row({ ...unmeasured, what: 'everything', who: 'all' })
    } finally {
      await ground.stop()
    }
  },
}

async function visit(
  start: () => Promise<Place>,
  ground: Ground,
  findings: Findings,
  use: Use,
): Promise<void> {
  const place = await start()
  try {
    findings.progress(`measuring on ${place.label} …`)
    const line = { place: place.label, what: 'one TCP round trip', who: 'the line', roundTrips: null }
    findings.row({ ...line, ms: await place.roundTrip() })
    const who = await gather(place, ground, findings)
    const taken: Taken[] = []
    const take: Measuring['take'] = async (what, heats, rounds) => {
      findings.progress(`  ${what} …`)
      taken.push(...(await contest(place, findings, ground, heats, rounds)))
    }
    try {
      await use({ place, who, ground, findings, take })
      tellFigures(findings, taken)
    } finally {
      await who.stop()
    }
  } finally {
    await place.stop()
  }
}

async function bulk({ place, who, ground, findings, take }: Measuring, rounds: number): Promise<void> {
  for (const { direction, task } of FAR_MOVES) {
    const ms = await place.poured(direction, task.mib * 2 ** 20)
    const row = { place: place.label, what: task.what, who: 'TCP alone', ms, roundTrips: null }
    findings.row({ ...row, note: rate(task.mib, ms) })
  }
  await take('large files', farMoves(who), rounds)
  findings.progress('  small questions during large files …')
  await askDuringMoves(place, findings, ground, who.ours)
}
