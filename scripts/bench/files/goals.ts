/** What the bench `files` has to show, and which measurements show it. */
import type { Findings, Goal } from '../bench.ts'
import { LOOPBACK } from '../places.ts'
import { FAR_MOVES, PULL_FAR, PULL_NEAR, PUSH_FAR, PUSH_NEAR } from './bulk.ts'
import type { Taken } from './contest.ts'
import * as tasks from './tasks.ts'
import type { Task } from './tasks.ts'

/** As rows and goals call those who are measured. */
export const OURS = 'ours'
export const OURS_FILES_ONLY = 'ours, SFTP alone'
export const SFTP = 'sftp, ControlMaster'
export const SSHFS = 'sshfs'

/** Where the round trips are counted. */
export const FAR_MS = 50
export const FAR = `${FAR_MS} ms`

/** Of the line for bulk, in bytes a packet: with small ones the process between its ends is what limits it. */
export const BULK_MTU = 16_000
const BULK_LINE = `${FAR}, ${BULK_MTU} bytes a packet`

/** At most so many round trips: on a machine with commands, and on one with SFTP alone. */
const TRIPS: readonly (readonly [Task, number, number?])[] = [
  [tasks.STAT, 1.1],
  [tasks.LSTAT, 1.1],
  [tasks.REALPATH, 1.1],
  [tasks.READ, 1.4, 2.3],
  [tasks.READ_LARGE, 3.5],
  [tasks.POLL, 1.3, 2.2],
  [tasks.WRITE, 2.0, 3.5],
  [tasks.EDIT, 2.0, 3.5],
  [tasks.WRITE_LARGE, 3.5],
  [tasks.EDIT_LARGE, 3.5],
  [tasks.LIST, 2, 5],
  [tasks.LIST_LARGE, 5, 8],
  [tasks.PROBE, 2, 4],
]

interface Told {
  readonly goal: Goal
  /** @returns undefined when what it needs was not measured. */
  value(of: (place: string, task: Task, who: string) => Taken | undefined): number | undefined
}

const TOLD: readonly Told[] = [
  ...TRIPS.flatMap(([task, full, filesOnly]) => [
    trips(task, OURS, full),
    ...(filesOnly === undefined ? [] : [trips(task, OURS_FILES_ONLY, filesOnly)]),
  ]),
  ratio(FAR, tasks.LIST_LARGE, SSHFS, 1),
  ratio(FAR, tasks.LIST_LARGE, SFTP, 0.06),
  rate(LOOPBACK, PULL_NEAR, 1),
  rate(LOOPBACK, PUSH_NEAR, 0.7),
  rate(BULK_LINE, PULL_FAR, 1.4),
  rate(BULK_LINE, PUSH_FAR, 1),
]

const DURING = FAR_MOVES.map(({ doing }) => ({
  doing,
  goal: tripGoal(`stat at ${FAR} while a large file is ${doing}, 95 of 100`, 1.3),
}))

export const GOALS: readonly Goal[] = [...TOLD.map(({ goal }) => goal), ...DURING.map(({ goal }) => goal)]

/** The goals that need the delayed line. */
export const FAR_GOALS: readonly string[] = GOALS.map(({ name }) => name).filter((name) => name.includes(FAR))

/** Tell the figures of the goals for which everything has been taken. */
export function tellFigures(findings: Findings, taken: readonly Taken[]): void {
  const of = (place: string, task: Task, who: string): Taken | undefined =>
    taken.find((one) => one.place === place && one.task === task && one.who === who)
  for (const { goal, value } of TOLD) {
    const figure = value(of)
    if (figure !== undefined) findings.figure(goal.name, figure)
  }
}

/** @param roundTrips - of the slowest of the fastest 95 of 100 questions. */
export function tellDuring(findings: Findings, doing: string, roundTrips: number): void {
  const told = DURING.find((one) => one.doing === doing)
  if (told !== undefined) findings.figure(told.goal.name, roundTrips)
}

function trips(task: Task, who: string, bound: number): Told {
  const where = who === OURS ? '' : `, with SFTP alone`
  return {
    goal: tripGoal(`${task.what}, at ${FAR}${where}`, bound),
    value: (of) => {
      const ours = of(FAR, task, who)
      return ours && ours.ms / ours.roundTrip
    },
  }
}

function tripGoal(name: string, goal: number): Goal {
  return { name, unit: 'round trips', bound: 'at most', goal }
}

/** Our time to a peer's. */
function ratio(place: string, task: Task, peer: string, bound: number): Told {
  return {
    goal: { name: `${task.what}, at ${place}, to ${peer}`, unit: 'ratio', bound: 'at most', goal: bound },
    value: (of) => {
      const [ours, theirs] = [of(place, task, OURS), of(place, task, peer)]
      return ours && theirs && ours.ms / theirs.ms
    },
  }
}

/** Our rate to that of OpenSSH's sftp. */
function rate(place: string, task: Task, bound: number): Told {
  const name = `rate: ${task.what}, ${place === LOOPBACK ? 'on' : 'at'} ${place}, to ${SFTP}`
  return {
    goal: { name, unit: 'ratio', bound: 'at least', goal: bound },
    value: (of) => {
      const [ours, theirs] = [of(place, task, OURS), of(place, task, SFTP)]
      return ours && theirs && theirs.ms / ours.ms
    },
  }
}
