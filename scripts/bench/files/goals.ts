/** What the bench `files` has to show at 50 ms, and which measurement shows it. */
import type { Findings, Goal } from '../bench.ts'
import type { Taken } from './contest.ts'
import { READ, type Task } from './tasks.ts'

/** Our two kinds of machine, as rows call them. */
export const OURS = 'ours'
export const OURS_FILES_ONLY = 'ours, SFTP alone'

interface TripGoal extends Goal {
  readonly task: Task
  readonly who: string
}

/** At most so many round trips: with commands, and with SFTP alone. */
const TRIPS: readonly (readonly [Task, number, number])[] = [[READ, 1.4, 2.3]]

const TRIP_GOALS: readonly TripGoal[] = TRIPS.flatMap(([task, full, filesOnly]) => [
  { ...trips(`${task.what}, at 50 ms`, full), task, who: OURS },
  { ...trips(`${task.what}, at 50 ms, SFTP alone`, filesOnly), task, who: OURS_FILES_ONLY },
])

export const GOALS: readonly Goal[] = TRIP_GOALS.map(({ name, unit, bound, goal }) => ({
  name,
  unit,
  bound,
  goal,
}))

/** Tell the figures that what was taken at 50 ms has. */
export function tellTrips(findings: Findings, taken: readonly Taken[]): void {
  for (const { name, task, who } of TRIP_GOALS) {
    const one = taken.find((each) => each.what === task.what && each.who === who)
    if (one !== undefined) findings.figure(name, one.ms / one.roundTrip)
  }
}

function trips(name: string, goal: number): Goal {
  return { name, unit: 'round trips', bound: 'at most', goal }
}
