/** Pieces of work by several who can do them, measured in turn at one place, with a row for each. */
import type { Findings } from './bench.ts'
import { LOOPBACK, type Place } from './places.ts'
import { inTurn, type Subject } from './rounds.ts'

/** One piece of work by one who is measured. Of those with the same `what`, the first is ours. */
export interface Entry {
  readonly what: string
  readonly who: string
  readonly rounds?: Subject<string>['rounds']
  /** @returns milliseconds, once the answer has turned out to be right. */
  measure(): Promise<number>
  /** What stands beside its row. */
  notes?(ms: number): readonly string[]
}

/** A median, with the round trip that was measured in the same rounds. */
export interface Measured {
  readonly place: string
  readonly what: string
  readonly who: string
  readonly ms: number
  readonly roundTrip: number
}

export interface Frame {
  readonly rounds: number
  /** So long at most, if one round has been counted by then; a slow computer measures less often. */
  readonly atMostSeconds: number
}

const ROUND_TRIP = 'one TCP round trip'

/** Between two small pieces of work: a server has little to end. */
const SETTLING_MS = 40

/** @returns in the order of the entries. */
export async function measureEntries(
  place: Place,
  findings: Findings,
  entries: readonly Entry[],
  { rounds, atMostSeconds }: Frame,
): Promise<Measured[]> {
  const subjects = entries.map((entry): Subject<string> => ({
    name: nameOf(entry),
    measure: () => entry.measure(),
    ...(entry.rounds === undefined ? {} : { rounds: entry.rounds }),
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
  const fewer = counted < rounds ? [`${counted} of ${rounds} rounds, for want of time`] : []
  const median = (name: string): number => medians[name] ?? Number.NaN
  const roundTrip = median(ROUND_TRIP)
  return entries.map((entry) => {
    const { what, who } = entry
    const ours = entries.find((one) => one.what === what) ?? entry
    const ms = median(nameOf(entry))
    const note = [...(entry.notes?.(ms) ?? []), ...fewer].join('; ')
    findings.row({
      place: place.label,
      what,
      who,
      ms,
      roundTrips: place.label === LOOPBACK ? null : ms / roundTrip,
      ...(ours === entry ? {} : { oursToThis: median(nameOf(ours)) / ms }),
      ...(note === '' ? {} : { note }),
    })
    return { place: place.label, what, who, ms, roundTrip }
  })
}

function nameOf({ what, who }: Entry): string {
  return `${what} / ${who}`
}
