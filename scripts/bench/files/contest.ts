/** Tasks measured with everybody who can do them, in turn, at one place. */
import type { Findings } from '../bench.ts'
import { LOOPBACK, type Place } from '../places.ts'
import { inTurn, type Subject } from '../rounds.ts'
import type { Client } from './client.ts'
import type { Ground } from './ground.ts'
import type { Task } from './tasks.ts'

/** A task, and who does it how often; the first of them is ours. */
export interface Heat {
  readonly task: Task
  readonly entries: readonly { readonly client: Client; readonly rounds: Subject<string>['rounds'] }[]
}

/** A median, with the round trip that was measured in the same rounds. */
export interface Taken {
  readonly place: string
  readonly task: Task
  readonly who: string
  readonly ms: number
  readonly roundTrip: number
}

const ROUND_TRIP = 'one TCP round trip'

/** Between two small pieces of work: a server has little to end. */
const SETTLING_MS = 40

/** Tells a row for each client of each task. */
export async function contest(
  place: Place,
  findings: Findings,
  ground: Ground,
  heats: readonly Heat[],
  rounds: number,
): Promise<Taken[]> {
  const pairs = heats.flatMap(({ task, entries }) =>
    entries.map((entry) => ({ task, ...entry, name: `${task.what} / ${entry.client.who}` })),
  )
  const subjects = pairs.map(({ task, client, rounds: wanted, name }): Subject<string> => ({
    name,
    measure: () => task.measure(client, ground),
    ...(wanted === undefined ? {} : { rounds: wanted }),
  }))
  const medians = await inTurn(
    [{ name: ROUND_TRIP, measure: () => place.roundTrip() }, ...subjects],
    rounds,
    SETTLING_MS,
  )
  const median = (name: string): number => medians[name] ?? Number.NaN
  const roundTrip = median(ROUND_TRIP)
  for (const { task } of heats) {
    const mine = pairs.filter((pair) => pair.task === task)
    const [ours] = mine
    for (const { client, name } of mine) {
      const ms = median(name)
      const notes = [...(task.mib === undefined ? [] : [rate(task.mib, ms)]), client.note]
      const note = notes.filter((one) => one !== undefined).join('; ')
      findings.row({
        place: place.label,
        what: task.what,
        who: client.who,
        ms,
        roundTrips: place.label === LOOPBACK ? null : ms / roundTrip,
        ...(ours === undefined || ours.client === client ? {} : { oursToThis: median(ours.name) / ms }),
        ...(note === '' ? {} : { note }),
      })
    }
  }
  return pairs.map(({ task, client, name }) => ({
    place: place.label,
    task,
    who: client.who,
    ms: median(name),
    roundTrip,
  }))
}

export function rate(mib: number, ms: number): string {
  return `${((1000 * mib) / ms).toPrecision(3)} MiB/s`
}
