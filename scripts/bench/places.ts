/** Where is measured: loopback, and the far end of a delayed line. Each has a real sshd. */
import { startBed } from '../bed/bed.ts'
import { roundTrips, startEcho } from '../bed/round-trip.ts'
import { freePort } from '../project/port.ts'
import { median } from './rounds.ts'
import { startServer, type BenchServer } from './server.ts'

export interface Place {
  /** As rows call it. */
  readonly label: string
  readonly server: BenchServer
  /** Argv that puts a program at its far end. */
  readonly within: readonly string[]
  /** Median of a few TCP round trips now, in milliseconds. */
  roundTrip(): Promise<number>
  /** A server beside the other, that serves files and runs no commands; goes with the place. */
  filesOnly(): Promise<BenchServer>
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
  return place(`${rttMs} ms`, bed.far, SSH_PORT, bed.within, () => bed.stop())
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
    return {
      label,
      server,
      within,
      roundTrip: async () => median(await roundTrips(echo, 5)),
      filesOnly: async () => {
        const other = await startServer(host, await freePort(), { within, filesOnly: true })
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
