/** How long a small question takes while a large file is moved as fast as it goes, by the same client. */
import type { Findings } from '../bench.ts'
import type { Place } from '../places.ts'
import { median, percentile } from '../rounds.ts'
import { FAR_MOVES } from './bulk.ts'
import { able, type Client } from './client.ts'
import { rate } from './contest.ts'
import { tellDuring } from './goals.ts'
import type { Ground } from './ground.ts'
import { STAT, type Task } from './tasks.ts'

/** Enough for a value that 95 of 100 do not exceed. */
const QUESTIONS = 120

/** Until the line is full. */
const BEGINNING_MS = 500

export async function askDuringMoves(
  place: Place,
  findings: Findings,
  ground: Ground,
  client: Client,
): Promise<void> {
  for (const { doing, task } of FAR_MOVES) {
    const roundTrip = median([await place.roundTrip(), await place.roundTrip(), await place.roundTrip()])
    const { stats, line, transfers } = await askDuring(place, ground, client, task)
    const moving = `while a large file is ${doing} at ${rate(task.mib, median(transfers))}`
    const tell = (what: string, who: string, times: readonly number[]): number => {
      const ms = percentile(times, 0.95)
      const note = `the slowest of the fastest 95 of 100; half took ${(median(times) / roundTrip).toFixed(2)} round trips`
      findings.row({
        place: place.label,
        what: `${what}, ${moving}`,
        who,
        ms,
        roundTrips: ms / roundTrip,
        note,
      })
      return ms / roundTrip
    }
    tell('one TCP round trip', 'the line', line)
    tellDuring(findings, doing, tell('stat of a file never seen', client.who, stats))
  }
}

interface During {
  /** Of each question, in milliseconds. */
  readonly stats: readonly number[]
  /** Of each round trip over the line beside it. */
  readonly line: readonly number[]
  /** In which the files were moved, one after another. */
  readonly transfers: readonly number[]
}

/** A transfer follows the other until all questions are answered. */
async function askDuring(place: Place, ground: Ground, client: Client, transfer: Task): Promise<During> {
  able(client, transfer.needs)
  const stats: number[] = []
  const transfers: number[] = []
  let asked = false
  const moving = (async () => {
    while (!asked) transfers.push(await transfer.measure(client, ground))
  })()
  const asking = (async () => {
    await new Promise((resume) => setTimeout(resume, BEGINNING_MS))
    while (stats.length < QUESTIONS) stats.push(await STAT.measure(client, ground))
  })()
  const listening = (async () => {
    await new Promise((resume) => setTimeout(resume, BEGINNING_MS))
    return place.roundTrips(QUESTIONS)
  })()
  const answered = Promise.all([listening, asking]).finally(() => (asked = true))
  const [[line]] = await Promise.all([answered, moving])
  return { stats, line, transfers }
}
