/** Tasks measured with everybody who can do them, in turn, at one place. */
import type { Findings } from '../bench.ts'
import { LOOPBACK, type Place } from '../places.ts'
import { inTurn, type Subject } from '../rounds.ts'
import type { Client } from './client.ts'
import type { Ground } from './ground.ts'
import type { Task } from './tasks.ts'

/** A median, with the round trip that was measured in the same rounds. */
export interface Taken {
  readonly what: string
  readonly who: string
  readonly ms: number
  readonly roundTrip: number
}

const ROUND_TRIP = 'one TCP round trip'

/** Between two small pieces of work: a server has little to end. */
const SETTLING_MS = 40

/** The rows' order: by task, ours first. Also tells the line's own round trip. */
export async function contest(
  place: Place,
  findings: Findings,
  ground: Ground,
  tasks: readonly Task[],
  clients: readonly Client[],
  rounds: number,
): Promise<Taken[]> {
  const pairs = tasks.flatMap((task) =>
    clients.filter((client) => client[task.needs] !== undefined).map((client) => ({ task, client })),
  )
  const subjects: Subject<string>[] = pairs.map(({ task, client }) => ({
    name: nameOf(task.what, client.who),
    measure: () => task.measure(client, ground),
  }))
  const medians = await inTurn(
    [{ name: ROUND_TRIP, measure: () => place.roundTrip() }, ...subjects],
    rounds,
    SETTLING_MS,
  )
  const roundTrip = medians[ROUND_TRIP] ?? Number.NaN
  const taken = pairs.map(({ task, client }) => ({
    what: task.what,
    who: client.who,
    ms: medians[nameOf(task.what, client.who)] ?? Number.NaN,
    roundTrip,
    ...(client.note === undefined ? {} : { note: client.note }),
  }))
  findings.row({ place: place.label, what: ROUND_TRIP, who: 'the line', ms: roundTrip, roundTrips: null })
  for (const { what, who, ms, note } of taken) {
    const ours = taken.find((one) => one.what === what)
    findings.row({
      place: place.label,
      what,
      who,
      ms,
      roundTrips: place.label === LOOPBACK ? null : ms / roundTrip,
      ...(ours === undefined || ours.who === who ? {} : { oursToThis: ours.ms / ms }),
      ...(note === undefined ? {} : { note }),
    })
  }
  return taken
}

function nameOf(what: string, who: string): string {
  return `${what} / ${who}`
}
