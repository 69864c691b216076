/** What the bench `commands` has to show, and which measurements show it. */
import type { Findings, Goal } from '../bench.ts'
import type { Measured } from '../entries.ts'
import { LOOPBACK } from '../places.ts'

/** As rows call those who are measured. */
export const OURS = 'ours'
export const OURS_BARE = 'ours, without ripgrep'
export const OURS_FILES_ONLY = 'ours, SFTP alone'
export const EXEC = 'ours, a fresh channel'
export const MACHINE = 'the computer itself'
export const SSH = 'ssh, ControlMaster'
export const RG = 'rg, ssh, ControlMaster'
export const FIND = 'find, ssh, ControlMaster'

/** As rows call what they do. */
export const ITSELF = "sh -c 'exec true'"
export const AFTER_PAUSE = 'true, after a pause'
export const AT_ONCE = 'true, back to back'
export const AFTER_PAUSE_SLOW = 'true, after a pause, with slow start-up files'
export const GREP = 'grep'
export const GLOB = 'glob'
export const WALK = 'all files of the tree'

/** Where the round trips are counted. */
export const FAR_MS = 50
export const FAR = `${FAR_MS} ms`

/** What a glob may take beside its round trips, in milliseconds. */
const GLOB_WORK_MS = 150

type Which = readonly [what: string, who: string]

/** The median of one piece of work by one, and the round trip then; NaN when it was not measured. */
type Medians = (...which: Which) => Pick<Measured, 'ms' | 'roundTrip'>

interface Told {
  readonly goal: Goal
  readonly place: string
  value(of: Medians): number
}

const TOLD: readonly Told[] = [
  ...[AFTER_PAUSE, AT_ONCE].flatMap((what) => [
    trips([what, OURS], 1.3, 'a process on the computer itself', (of) => of(ITSELF, MACHINE).ms),
    ratio(LOOPBACK, [what, OURS], [what, SSH], 0.6),
  ]),
  ...[LOOPBACK, FAR].flatMap((place) => [
    ratio(place, [AFTER_PAUSE_SLOW, OURS], [AFTER_PAUSE, OURS], 1.1),
    ratio(place, [GREP, OURS], [GREP, RG], 1.1),
    ratio(place, [GREP, OURS_BARE], [GREP, RG], 3),
    ratio(place, [GLOB, OURS], [GLOB, FIND], 3),
  ]),
  trips([GLOB, OURS], 6, `${GLOB_WORK_MS} ms for the work`, () => GLOB_WORK_MS),
  trips([WALK, OURS_FILES_ONLY], 120),
]

export const GOALS: readonly Goal[] = TOLD.map(({ goal }) => goal)

/** The goals of a place, by its label. */
export function goalsAt(label: string): string[] {
  return TOLD.filter(({ place }) => place === label).map(({ goal }) => goal.name)
}

/** The goals that need one piece of work, or one who does it. */
export function goalsWith(whatOrWho: string): string[] {
  return GOALS.map(({ name }) => name).filter((name) => name.includes(whatOrWho))
}

/** Tell the figures of one place, as far as they have been taken. */
export function tellFigures(findings: Findings, label: string, taken: readonly Measured[]): void {
  const of: Medians = (what, who) =>
    taken.find((one) => one.what === what && one.who === who) ?? { ms: Number.NaN, roundTrip: Number.NaN }
  for (const { goal, place, value } of TOLD) {
    const figure = place === label ? value(of) : Number.NaN
    if (Number.isFinite(figure)) findings.figure(goal.name, figure)
  }
}

/** At the far place, and less what is no fault of the line, in milliseconds. */
function trips(
  which: Which,
  bound: number,
  what?: string,
  takenOff: (of: Medians) => number = () => 0,
): Told {
  const off = what === undefined ? '' : `, ${what} taken off`
  return {
    goal: {
      name: `${subjectOf(which)}, at ${FAR}${off}`,
      unit: 'round trips',
      bound: 'at most',
      goal: bound,
    },
    place: FAR,
    value: (of) => {
      const { ms, roundTrip } = of(...which)
      return (ms - takenOff(of)) / roundTrip
    },
  }
}

function ratio(place: string, which: Which, to: Which, bound: number): Told {
  const where = place === LOOPBACK ? `on ${place}` : `at ${place}`
  const [peer, name] = to
  const shown = name === which[1] ? peer : name
  return {
    goal: {
      name: `${subjectOf(which)}, ${where}, to ${shown}`,
      unit: 'ratio',
      bound: 'at most',
      goal: bound,
    },
    place,
    value: (of) => of(...which).ms / of(...to).ms,
  }
}

function subjectOf([what, who]: Which): string {
  return who === OURS ? what : `${what}, ${who}`
}
