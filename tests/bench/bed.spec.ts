/** The delay bed on this computer: what it delays, and that nothing of it stays. */
import { readdirSync, readlinkSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { BedUnavailable, startBed, type Bed } from '../../scripts/bed/bed.ts'
import { roundTrips, startEcho } from '../../scripts/bed/round-trip.ts'
import { run } from '../../scripts/project/children.ts'
import { processesWith } from '../../scripts/machine/processes.ts'
import { systemCode } from '../../src/base/failure.ts'

const RTT_MS = 40
const beds: Bed[] = []

afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.stop()
})

/** The bed, or the error by which this computer says that it cannot have one. */
async function bedOrReason(): Promise<Bed | BedUnavailable> {
  try {
    const bed = await startBed({ rttMs: RTT_MS })
    beds.push(bed)
    return bed
  } catch (error) {
    if (error instanceof BedUnavailable) return error
    throw error
  }
}

/** Processes in one network namespace. */
function processesIn(namespace: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => namespaceOf(pid) === namespace)
}

function namespaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch (error) {
    // It has ended meanwhile, waits to be collected, or is none of ours.
    if (['ENOENT', 'ESRCH', 'EACCES'].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}

describe('a delay bed', () => {
  it('takes a round trip as long as asked, and leaves no device, namespace or process', async () => {
    const bed = await bedOrReason()
    if (bed instanceof BedUnavailable) {
      expect(bed.message).toMatch(/^a delay bed needs |^the line /)
      return
    }
    const [far, near] = await Promise.all([startEcho(bed.far, bed.within), startEcho('127.0.0.1')])
    const farTrips = await roundTrips(far, 5)
    const nearTrips = await roundTrips(near, 5)
    // A line is never faster than its delay; how much slower it is, is this computer's matter.
    expect(Math.min(...farTrips)).toBeGreaterThan(RTT_MS * 0.95)
    expect(Math.min(...farTrips)).toBeGreaterThan(Math.min(...nearTrips))
    await Promise.all([far.stop(), near.stop()])

    const mark = `PRESENCE_BED_TEST=${process.pid}`
    const left = await bed.start(['env', mark, 'sleep', '600'])
    const namespace = (await run([...bed.within, 'readlink', '/proc/self/ns/net'])).stdout.trim()
    expect(namespace).not.toBe(namespaceOf(String(process.pid)))
    expect(processesIn(namespace).map(Number)).toContain(left.pid)
    await bed.stop()
    expect(processesIn(namespace)).toEqual([])
    expect(await processesWith('PRESENCE_BED_TEST', String(process.pid))).toEqual([])
    expect(Object.keys(networkInterfaces()).filter((name) => name.startsWith(`bed${process.pid}x`))).toEqual(
      [],
    )
    expect((await run(['ip', '-brief', 'link'])).stdout).not.toContain(`bed${process.pid}x`)
  })
})
