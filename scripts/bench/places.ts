/** Where is measured: loopback, and the far end of a delayed line. Each has a real sshd. */
import { BedUnavailable, startBed } from '../bed/bed.ts'
import type { FarServer } from '../bed/far-server.ts'
import { poured, startPour } from '../bed/raw-rate.ts'
import { roundTrips, roundTripsFromOutside, startEcho } from '../bed/round-trip.ts'
import { freePort } from '../project/port.ts'
import type { Findings } from './bench.ts'
import { median } from './rounds.ts'
import { startServer, type BenchServer, type ServerOptions } from './server.ts'

export interface Place {
  /** As rows call it. */
  readonly label: string
  readonly server: BenchServer
  /** Argv that puts a program at its far end. */
  readonly within: readonly string[]
  /** Median of a few TCP round trips now, in milliseconds. */
  roundTrip(): Promise<number>
  /** Each of so many, one after another, asked from a process that does nothing else. */
  roundTrips(times: number): Promise<number[]>
  /** Milliseconds in which so many bytes come or go over the line by TCP alone. */
  poured(direction: 'from' | 'to', bytes: number): Promise<number>
  /** A server beside the other, with a home of its own; goes with the place. */
  another(options?: Omit<ServerOptions, 'within'>): Promise<BenchServer>
  stop(): Promise<void>
}

export const LOOPBACK = 'loopback'

const SSH_PORT = 2222

export async function loopback(): Promise<Place> {
  return place(LOOPBACK, '127.0.0.1', await freePort(), [], () => Promise.resolve())
}

/**
 * @param mtu largest packet of the line; as on Ethernet when absent.
 * @throws BedUnavailable.
 */
export async function delayed(rttMs: number, mtu?: number): Promise<Place> {
  const bed = await startBed({ rttMs, ...(mtu === undefined ? {} : { mtu }) })
  const label = mtu === undefined ? `${rttMs} ms` : `${rttMs} ms, ${mtu} bytes a packet`
  return place(label, bed.far, SSH_PORT, bed.within, () => bed.stop())
}

/** Measure at a place, which goes afterwards. */
export async function visit(
  start: () => Promise<Place>,
  findings: Findings,
  use: (place: Place) => Promise<void>,
): Promise<void> {
  const place = await start()
  try {
    findings.progress(`measuring on ${place.label} …`)
    await use(place)
  } finally {
    await place.stop()
  }
}

/** Say of these goals that there can be no delayed line here. @throws any other failure. */
export function tellUnavailable(
  failure: unknown,
  findings: Findings,
  label: string,
  goals: readonly string[],
): void {
  if (!(failure instanceof BedUnavailable)) throw failure
  findings.notMeasured(goals, failure.message)
  const unmeasured = { place: label, ms: null, roundTrips: null, note: failure.message }
  findings.row({ ...unmeasured, what: 'everything', who: 'all' })
}

async function place(
  label: string,
  host: string,
  port: number,
  within: readonly string[],
  takeAway: () => Promise<void>,
): Promise<Place> {
  const undo = [takeAway]
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step()
  }
  try {
    const server = await startServer(host, port, { within })
    undo.push(() => server.stop())
    const echo = await startEcho(host, within)
    undo.push(() => echo.stop())
    let pouring: Promise<FarServer> | undefined
    const startPouring = async (): Promise<FarServer> => {
      const pour = await startPour(host, within)
      undo.push(() => pour.stop())
      return pour
    }
    return {
      label,
      server,
      within,
      roundTrip: async () => median(await roundTrips(echo, 5)),
      roundTrips: (times) => roundTripsFromOutside(echo, times),
      poured: async (direction, bytes) => poured(await (pouring ??= startPouring()), direction, bytes),
      another: async (options = {}) => {
        const other = await startServer(host, await freePort(), { ...options, within })
        undo.push(() => other.stop())
        return other
      },
      stop,
    }
  } catch (failure) {
    await stop()
    throw failure
  }
}
