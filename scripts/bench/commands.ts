/**
 * Commands and searches as an agent's host has them run: how long the smallest command takes, and the search
 * of a large tree, beside the `ssh` program, on loopback and at a distance.
 */
import type { Bench, Findings } from './bench.ts'
import { assertSsh } from './clients.ts'
import {
  AFTER_PAUSE_SLOW,
  FAR,
  FAR_MS,
  GLOB,
  GOALS,
  goalsAt,
  goalsWith,
  GREP,
  OURS_BARE,
  tellFigures,
} from './commands/goals.ts'
import { startMachines, type Machines } from './commands/machines.ts'
import { runningEntries } from './commands/running.ts'
import { searchingEntries } from './commands/searching.ts'
import { Tree } from './commands/tree.ts'
import { walkingEntry } from './commands/walking.ts'
import { measureEntries, type Entry, type Frame, type Measured } from './entries.ts'
import { delayed, LOOPBACK, loopback, tellUnavailable, visit, type Place } from './places.ts'
import { FILES } from './tools/project.ts'

const ROUNDS = 6

export const commands: Bench = {
  name: 'commands',
  about: `the smallest command, and the search of 20,000 files, on ${LOOPBACK} and at ${FAR}`,
  goals: GOALS,
  rounds: ROUNDS,
  run: async (findings, { rounds }) => {
    assertSsh()
    findings.progress('making the tree …')
    const tree = await Tree.make(FILES)
    try {
      for (const start of [loopback, () => delayed(FAR_MS)]) {
        await visit(start, findings, (place) => measure(place, tree, findings, rounds))
      }
    } catch (failure) {
      tellUnavailable(failure, findings, FAR, goalsAt(FAR))
    } finally {
      await tree.stop()
    }
  },
}

async function measure(place: Place, tree: Tree, findings: Findings, rounds: number): Promise<void> {
  const machines = await startMachines(place)
  try {
    await measureAt(place, machines, tree, findings, rounds)
  } finally {
    await machines.stop()
  }
}

/** @param pauseMs - between two commands where there is a pause; as an agent makes one when absent. */
export async function measureAt(
  place: Place,
  machines: Machines,
  tree: Tree,
  findings: Findings,
  rounds: number,
  pauseMs?: number,
): Promise<void> {
  const line = { place: place.label, what: 'one TCP round trip', who: 'the line', roundTrips: null }
  findings.row({ ...line, ms: await place.roundTrip() })
  tellMissing(place, machines, findings)
  const taken: Measured[] = []
  const take = async (what: string, entries: readonly Entry[], frame: Frame): Promise<void> => {
    findings.progress(`  ${what} …`)
    taken.push(...(await measureEntries(place, findings, entries, frame)))
  }
  // More rounds get more time.
  const seconds = (usual: number): number => (usual * rounds) / ROUNDS
  const few = Math.ceil(rounds / 3)
  await take('commands', runningEntries(machines, pauseMs), { rounds, atMostSeconds: seconds(40) })
  await take('searches', searchingEntries(machines, tree), { rounds, atMostSeconds: seconds(30) })
  await take('a walk', [walkingEntry(machines, tree)], { rounds: few, atMostSeconds: seconds(15) })
  tellFigures(findings, place.label, taken)
}

function tellMissing({ label }: Place, { slow, bare }: Machines, findings: Findings): void {
  const tell = (whats: readonly string[], who: string, goals: readonly string[], why: string): void => {
    findings.notMeasured(goals, why)
    for (const what of whats) findings.row({ place: label, what, who, ms: null, roundTrips: null, note: why })
  }
  if ('missing' in slow) tell([AFTER_PAUSE_SLOW], 'all', goalsWith(AFTER_PAUSE_SLOW), slow.missing)
  if ('missing' in bare) tell([GREP, GLOB], OURS_BARE, goalsWith(OURS_BARE), bare.missing)
}
