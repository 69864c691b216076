/**
 * The result of a bench, as JSON and as a table. It owns one rule: a goal is met only by a figure that was
 * measured in this run; one without a figure is not met, whatever the reason.
 */
import { availableParallelism } from 'node:os'
import { messageOf } from '../../src/base/failure.ts'
import type { Bench, Findings, Goal, Row } from './bench.ts'

export interface JudgedGoal extends Goal {
  readonly value: number | null
  readonly met: boolean
  /** Why there is no value. */
  readonly why?: string
}

export interface Report {
  readonly bench: string
  readonly rounds: number
  readonly computer: { readonly platform: string; readonly cpus: number; readonly node: string }
  readonly rows: readonly Row[]
  readonly goals: readonly JudgedGoal[]
  /** What ended the bench early. */
  readonly error?: string
}

/** Run a bench. Never throws for what goes wrong in it: that is in the report, and its goals are not met. */
export async function reportOf(
  bench: Bench,
  rounds: number,
  progress: (text: string) => void,
): Promise<Report> {
  const rows: Row[] = []
  const figures = new Map<string, number>()
  const reasons = new Map<string, string>()
  const findings: Findings = {
    row: (row) => void rows.push(row),
    figure: (goal, value) => {
      if (!bench.goals.some(({ name }) => name === goal))
        throw new Error(`${bench.name} has no goal "${goal}"`)
      figures.set(goal, value)
    },
    notMeasured: (goals, why) => goals.forEach((goal) => reasons.set(goal, why)),
    progress,
  }
  let error: string | undefined
  try {
    await bench.run(findings, { rounds })
  } catch (failure) {
    error = messageOf(failure)
  }
  return {
    bench: bench.name,
    rounds,
    computer: { platform: process.platform, cpus: availableParallelism(), node: process.version },
    rows: rows.map(rounded),
    goals: bench.goals.map((goal) => judge(goal, figures.get(goal.name), reasons.get(goal.name) ?? error)),
    ...(error === undefined ? {} : { error }),
  }
}

export function allMet(report: Report): boolean {
  return report.error === undefined && report.goals.every(({ met }) => met)
}

function judge(goal: Goal, value: number | undefined, why = 'no figure'): JudgedGoal {
  if (value === undefined || !Number.isFinite(value)) return { ...goal, value: null, met: false, why }
  return {
    ...goal,
    value: toThree(value),
    met: goal.bound === 'at most' ? value <= goal.goal : value >= goal.goal,
  }
}

function rounded(row: Row): Row {
  return {
    ...row,
    ms: row.ms === null ? null : toThree(row.ms),
    roundTrips: row.roundTrips === null ? null : toThree(row.roundTrips),
    ...(row.oursToThis === undefined ? {} : { oursToThis: toThree(row.oursToThis) }),
  }
}

/** Three figures are more than one run can promise. */
function toThree(value: number): number {
  return Number(value.toPrecision(3))
}

export function textOf(report: Report): string {
  const { bench, rounds, computer, rows, goals, error } = report
  const heading = `${bench}: medians of ${rounds} rounds (${computer.platform}, ${computer.cpus} processors, Node ${computer.node})`
  const table = columns([
    ['where', 'what', 'who', 'ms', 'round trips', 'ours to this', ''],
    ...rows.map((row) => [
      row.place,
      row.what,
      row.who,
      row.ms === null ? 'not measured' : String(row.ms),
      row.roundTrips === null ? '' : String(row.roundTrips),
      row.oursToThis === undefined ? '' : String(row.oursToThis),
      row.note ?? '',
    ]),
  ])
  const verdicts = columns([
    ['goal', 'value', '', ''],
    ...goals.map((goal) => [
      goal.name,
      goal.value === null ? 'not measured' : String(goal.value),
      `${goal.bound} ${goal.goal} ${goal.unit}`,
      goal.met ? 'met' : `NOT MET${goal.why === undefined ? '' : ` (${goal.why})`}`,
    ]),
  ])
  const parts = [heading, table, verdicts]
  if (error !== undefined) parts.push(`The bench ended early: ${error}`)
  return parts.join('\n\n')
}

function columns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
