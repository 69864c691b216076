/** Tasks measured with everybody who can do them, in turn, at one place. */
import type { Findings } from '../bench.ts'
import { measureEntries, type Entry, type Frame, type Measured } from '../entries.ts'
import type { Place } from '../places.ts'
import type { Subject } from '../rounds.ts'
import type { Client } from './client.ts'
import type { Ground } from './ground.ts'
import type { Task } from './tasks.ts'

/** A task, and who does it how often; the first of them is ours. */
export interface Heat {
  readonly task: Task
  readonly entries: readonly { readonly client: Client; readonly rounds: Subject<string>['rounds'] }[]
}

/** What was measured of a task. */
export interface Taken extends Omit<Measured, 'what'> {
  readonly task: Task
}

/** Tells a row for each client of each task. */
export async function contest(
  place: Place,
  findings: Findings,
  ground: Ground,
  heats: readonly Heat[],
  frame: Frame,
): Promise<Taken[]> {
  const pairs = heats.flatMap(({ task, entries }) =>
    entries.map(({ client, rounds }) => ({ task, entry: entryOf(task, client, rounds, ground) })),
  )
  const measured = await measureEntries(
    place,
    findings,
    pairs.map(({ entry }) => entry),
    frame,
  )
  return pairs.flatMap(({ task }, at) => {
    const one = measured[at]
    return one === undefined ? [] : [{ ...one, task }]
  })
}

function entryOf(task: Task, client: Client, rounds: Subject<string>['rounds'], ground: Ground): Entry {
  const { mib } = task
  return {
    what: task.what,
    who: client.who,
    measure: () => task.measure(client, ground),
    notes: (ms) => [
      ...(mib === undefined ? [] : [rate(mib, ms)]),
      ...(client.note === undefined ? [] : [client.note]),
    ],
    ...(rounds === undefined ? {} : { rounds }),
  }
}

export function rate(mib: number, ms: number): string {
  return `${((1000 * mib) / ms).toPrecision(3)} MiB/s`
}
