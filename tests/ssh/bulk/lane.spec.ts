/** A second SFTP channel for bulk: where it can be had, who else wants its place, and when it goes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { BulkLane } from '../../../src/ssh/connection/bulk-lane.ts'
import { outputOf } from '../../support/command-output.ts'
import { startDropbear } from '../../support/dropbear.ts'
import { startRig, type Rig } from '../../support/rig.ts'

const MIB = 1024 * 1024
const LARGE = 8 * MIB

let rig: Rig | undefined
afterEach(async () => {
  vi.useRealTimers()
  await rig?.stop()
  rig = undefined
})

const started = async (...sshdConfig: string[]): Promise<Rig> => (rig = await startRig({ sshdConfig }))

describe('a lease for bulk', () => {
  it.each(['internal-sftp', '/usr/lib/openssh/sftp-server'])(
    'is one of a channel of its own, the same for all, served by %s',
    async (service) => {
      const session = await (await started(`Subsystem sftp ${service}`)).machine.session()
      const leases = await Promise.all([session.bulkSftp(LARGE), session.bulkSftp(LARGE)])
      expect(leases.map(({ shared }) => shared)).toEqual([false, false])
      expect(leases[0].sftp).toBe(leases[1].sftp)
      expect(leases[0].sftp).not.toBe(await session.sftp())
      expect(session.link.idleMs).toBe(0)
      for (const lease of leases) lease.release()
      await expect.poll(() => session.link.idleMs).toBeGreaterThan(0)
    },
  )

  it('of little does not wait for that channel, but lets it be opened for the next', async () => {
    const session = await (await started()).machine.session()
    const first = await session.bulkSftp(MIB)
    expect(first.shared).toBe(true)
    expect(first.sftp).toBe(await session.sftp())
    await expect.poll(async () => (await session.bulkSftp(MIB)).shared).toBe(false)
  })

  it('is one of the channel for small requests where there is only one', async () => {
    const session = await (await started('MaxSessions 1')).machine.session()
    const lease = await session.bulkSftp(LARGE)
    expect(lease.shared).toBe(true)
    expect(lease.sftp).toBe(await session.sftp())
  })

  it('is so on a dropbear, which bears no two channels well', async () => {
    const dropbear = await startDropbear()
    const session = await dropbear.visit().machine.session()
    expect((await session.bulkSftp(LARGE)).shared).toBe(true)
    await dropbear.stop()
  })

  it('is so where SFTP had to be started as a command', async () => {
    const session = await (await started('Subsystem sftp /bin/false')).machine.session()
    expect(session.capabilities.sftp).toMatchObject({ kind: 'sftp', way: { kind: 'program' } })
    expect((await session.bulkSftp(LARGE)).shared).toBe(true)
  })

  it('of a channel that is gone is followed by one of a new one', async () => {
    const session = await (await started()).machine.session()
    const first = await session.bulkSftp(LARGE)
    first.sftp.end()
    const second = await session.bulkSftp(LARGE)
    first.release()
    expect(second.shared).toBe(false)
    expect((await second.sftp.stat('/')).mode).not.toBe(0)
  })
})

describe('the place of that channel', () => {
  it('goes to a command that needs it, when no transfer does', async () => {
    const used = await started('MaxSessions 2')
    const session = await used.machine.session()
    const lease = await session.bulkSftp(LARGE)
    lease.release()
    expect(await outputOf(session.exec, 'echo served')).toBe('served\n')
    expect(await Promise.all([1, 2, 3].map((one) => outputOf(session.exec, `echo ${one}`)))).toEqual([
      '1\n',
      '2\n',
      '3\n',
    ])
    expect(session.link.alive).toBe(true)
  })

  it('stays that of a transfer as long as it lasts; commands are served all the same', async () => {
    const used = await started('MaxSessions 2')
    writeFileSync(join(used.folder, 'f'), 'content')
    const session = await used.machine.session()
    const lease = await session.bulkSftp(LARGE)
    const handle = await lease.sftp.openForReading(join(used.folder, 'f'))
    expect(await outputOf(session.exec, 'echo served')).toBe('served\n')
    expect((await lease.sftp.read(handle, 0, 100)).toString()).toBe('content')
    lease.release()
    expect(await outputOf(session.exec, 'echo again')).toBe('again\n')
  })

  it('is given back when nobody has used the channel for a while, and not before', async () => {
    const session = await (await started()).machine.session()
    const sftp = await session.sftp()
    const ended: string[] = []
    const lane = new BulkLane({
      machine: 'demo',
      small: async () => sftp,
      place: () => () => void ended.push('place'),
      open: async () =>
        new Proxy(sftp, {
          get: (target, name) =>
            name === 'end'
              ? () => void ended.push('channel')
              : (Reflect.get(target, name, target) as unknown),
        }),
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const lease = await lane.lease(LARGE)
    vi.advanceTimersByTime(100_000)
    expect(ended).toEqual([])
    lease.release()
    vi.advanceTimersByTime(20_000)
    const next = await lane.lease(LARGE)
    vi.advanceTimersByTime(100_000)
    expect(ended).toEqual([])
    next.release()
    vi.advanceTimersByTime(31_000)
    expect(ended).toEqual(['channel', 'place'])
  })
})
