/**
 * All scenarios in one process, which has nothing else to do and so must end by itself afterwards. Its
 * output is one JSON line a scenario; `isolated-check.ts` starts it and judges.
 *
 *   node scripts/isolated/run.ts <order> <local folder> <mount> <remote folder>
 */
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '../../src/base/failure.ts'
import { grown, holdings } from './leftovers.ts'
import { SCENARIOS, type Order } from './scenarios.ts'

export interface Verdict {
  readonly name: string
  /** What is wrong; undefined for a scenario that passed. */
  readonly problem: string | undefined
}

/** How often, and how many milliseconds apart, it is looked whether all has been let go. */
const LOOKS = 200
const LOOK_MS = 25

const [order, local, mount, remote] = process.argv.slice(2)
if (order === undefined || local === undefined || mount === undefined || remote === undefined)
  throw new Error('usage: run.ts <order> <local folder> <mount> <remote folder>')

for (const scenario of SCENARIOS) {
  const before = holdings()
  const problems: string[] = []
  try {
    await scenario.run({ order: order as Order, local, mount, remote })
  } catch (failure) {
    problems.push(messageOf(failure))
  }
  // A connection that was closed is gone when the other side has closed it as well.
  for (let look = 0; look < LOOKS && grown(before, holdings()).length > 0; look += 1) await pause(LOOK_MS)
  problems.push(...grown(before, holdings()).map((what) => `left behind: ${what}`))
  const verdict: Verdict = {
    name: scenario.name,
    problem: problems.length === 0 ? undefined : problems.join('; '),
  }
  process.stdout.write(`${JSON.stringify(verdict)}\n`)
}
