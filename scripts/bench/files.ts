/**
 * Work on files as an agent's host does it, beside everybody else who works on files over SSH: on
 * loopback and at several distances, on a machine with commands and on one with SFTP alone.
 */
import { BedUnavailable } from '../bed/bed.ts'
import type { Bench, Findings } from './bench.ts'
import type { Client } from './files/client.ts'
import { contest } from './files/contest.ts'
import { GOALS, OURS, OURS_FILES_ONLY, tellTrips } from './files/goals.ts'
import { Ground } from './files/ground.ts'
import { OurFiles } from './files/ours.ts'
import { startProvider } from './files/provider.ts'
import { startSsh2 } from './files/ssh2-client.ts'
import { READ } from './files/tasks.ts'
import { delayed, loopback, type Place } from './places.ts'

export const files: Bench = {
  name: 'files',
  about: 'read, write, edit, list and move files, on loopback and at 10, 50 and 100 ms',
  goals: GOALS,
  rounds: 7,
  run: async (findings, { rounds }) => {
    const ground = await Ground.make()
    try {
      await at(loopback, findings, ground, rounds)
      try {
        await at(() => delayed(50), findings, ground, rounds)
      } catch (failure) {
        if (!(failure instanceof BedUnavailable)) throw failure
        findings.notMeasured(
          GOALS.map(({ name }) => name),
          failure.message,
        )
      }
    } finally {
      await ground.stop()
    }
  },
}

async function at(
  start: () => Promise<Place>,
  findings: Findings,
  ground: Ground,
  rounds: number,
): Promise<void> {
  const place = await start()
  const clients: Client[] = []
  try {
    findings.progress(`measuring on ${place.label} …`)
    const provider = await startProvider({ full: place.server, files: await place.filesOnly() })
    try {
      const ours = new OurFiles(provider, 'full', ground.folder, OURS)
      const filesOnly = new OurFiles(provider, 'files', ground.folder, OURS_FILES_ONLY)
      await ours.open()
      await filesOnly.open()
      clients.push(ours, filesOnly, await startSsh2(place.server))
      const taken = await contest(place, findings, ground, [READ], clients, rounds)
      if (place.label === '50 ms') tellTrips(findings, taken)
      for (const client of clients) await client.stop()
    } finally {
      await provider.stop()
    }
  } finally {
    await place.stop()
  }
}
