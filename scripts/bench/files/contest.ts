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

export interface Frame {
  readonly rounds: number
  /** So long at most, if one round has been counted by then; a slow computer measures less often. */
  readonly atMostSeconds: number
}

/** Tells a row for each client of each task. */
export async function contest(
  place: Place,
  findings: Findings,
  ground: Ground,
  heats: readonly Heat[],
  { rounds, atMostSeconds }: Frame,
): Promise<Taken[]> {
  const pairs = heats.flatMap(({ task, entries }) =>
    entries.map((entry) => ({ task, ...entry, name: `${task.what} / ${entry.client.who}` })),
  )
  const subjects = pairs.map(({ task, client, rounds: wanted, name }): Subject<string> => ({
    name,
    measure: () => task.measure(client, ground),
    ...(wanted === undefined ? {} : { rounds: wanted }),
  }))
  let begun = 0
  const line: Subject<string> = {
    name: ROUND_TRIP,
    measure: () => {
      begun += 1
      return place.roundTrip()
    },
  }
  const medians = await inTurn([line, ...subjects], rounds, SETTLING_MS, atMostSeconds * 1000)
  const counted = begun - 1
  const fewer = counted < rounds ? `${counted} of ${rounds} rounds, for want of time` : undefined
  const median = (name: string): number => medians[name] ?? Number.NaN
  const roundTrip = median(ROUND_TRIP)
  for (const { task } of heats) {
    const mine = pairs.filter((pair) => pair.task === task)
    const [ours] = mine
    for (const { client, name } of mine) {
      const ms = median(name)
      const notes = [...(task.mib === undefined ? [] : [rate(task.mib, ms)]), client.note, fewer]
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
