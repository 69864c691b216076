/** Everybody whom the bench of files measures, on loopback: that they do what is measured. */
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Row } from '../../scripts/bench/bench.ts'
import { FAR_GOALS, GOALS } from '../../scripts/bench/files/goals.ts'
import type { Client } from '../../scripts/bench/files/client.ts'
import { gather, type Contestants } from '../../scripts/bench/files/contestants.ts'
import { Ground } from '../../scripts/bench/files/ground.ts'
import { Large } from '../../scripts/bench/files/large.ts'
import { LOOKS, probeTurn } from '../../scripts/bench/files/probing.ts'
import { startProvider } from '../../scripts/bench/files/provider.ts'
import * as tasks from '../../scripts/bench/files/tasks.ts'
import { loopback, type Place } from '../../scripts/bench/places.ts'

let ground: Ground
let place: Place
let who: Contestants
const rows: Row[] = []

beforeAll(async () => {
  ground = await Ground.make()
  place = await loopback()
  const findings = {
    row: (row: Row) => void rows.push(row),
    figure: () => undefined,
    notMeasured: () => undefined,
    progress: () => undefined,
  }
  who = await gather(place, ground, findings)
})
afterAll(async () => {
  await who.stop()
  await place.stop()
  await ground.stop()
})

const SMALL = Object.values(tasks).filter(
  (value): value is tasks.Task => typeof value === 'object' && value !== tasks.LIST_LARGE,
)

describe('those who are measured', () => {
  const names = ['ours', 'filesOnly', 'ssh2', 'ssh', 'sftp', 'sshfs', 'rclone'] as const

  it.each(names)('do each piece of work that they offer, or are told to be missing: %s', async (name) => {
    const client: Client | undefined = who[name]
    if (client === undefined) {
      expect(rows).toContainEqual(expect.objectContaining({ who: name, ms: null, what: 'everything' }))
      return
    }
    for (const task of SMALL.filter(({ needs }) => client[needs] !== undefined)) {
      if (task === tasks.PROBE_SLOWLY) continue
      expect(await task.measure(client, ground), task.what).toBeGreaterThan(0)
    }
  })

  it('are found out when they answer wrongly', async () => {
    const { ours } = who
    const forgetful: Client = {
      who: 'forgetful',
      read: async () => Buffer.from(''),
      write: async () => undefined,
      list: async () => [],
      stop: async () => undefined,
    }
    for (const task of [tasks.READ, tasks.WRITE, tasks.LIST]) {
      await expect(task.measure(forgetful, ground)).rejects.toThrow()
      await expect(task.measure(ours, ground)).resolves.toBeGreaterThan(0)
    }
  })
})

describe('a large file', () => {
  it('is compared byte by byte, whole and in pieces', async () => {
    const large = await Large.make(9, ground.path())
    const { text } = large
    await large.compareWith(large.path)
    const copy = ground.path()
    const inPieces = (whole: string): void => {
      const comparison = large.comparison()
      for (let at = 0; at < whole.length; at += 1_000_003) comparison.take(whole.slice(at, at + 1_000_003))
      comparison.end()
    }
    inPieces(text)
    const mib = 1024 * 1024
    const swapped = text.slice(4 * mib, 8 * mib) + text.slice(0, 4 * mib) + text.slice(8 * mib)
    for (const wrong of [text.slice(1), `${text.slice(0, -1)}!`, swapped]) {
      expect(() => inPieces(wrong)).toThrow()
      await writeFile(copy, wrong)
      await expect(large.compareWith(copy)).rejects.toThrow()
    }
    await ground.remove(copy, large.path)
  })
})

describe('the raw rate of a line', () => {
  it.each(['from', 'to'] as const)('is taken with all the bytes at the other end: %s', async (direction) => {
    expect(await place.poured(direction, 3_000_001)).toBeGreaterThan(0)
  })
})

describe('the round trips of a line', () => {
  it('can be asked from a process that does nothing else', async () => {
    const taken = await place.roundTrips(7)
    expect(taken.map((ms) => ms > 0)).toEqual(Array.from({ length: 7 }, () => true))
  })
})

describe('the looking around before six steps', () => {
  it('asks as often as the host was seen to ask, and reads the instructions once', async () => {
    const provider = await startProvider({ demo: place.server })
    const calls: string[] = []
    const counted = new Proxy(provider.fs, {
      get: (fs, name) => {
        const value: unknown = Reflect.get(fs, name)
        if (typeof value !== 'function') return value
        return (...words: unknown[]): unknown => {
          calls.push(String(name))
          return Reflect.apply(value, fs, words)
        }
      },
    })
    const cwd = provider.mount('demo', await ground.project('be kind\n'))
    const depth = cwd.split('/').length
    const times = (name: string): number => calls.filter((call) => call === name).length
    try {
      const project = { cwd, dshHome: provider.home }
      const probed = await probeTurn({ ...provider, fs: counted }, project, () => Promise.resolve())
      expect(probed).toEqual({ root: cwd, texts: ['be kind\n'] })
    } finally {
      await provider.stop()
    }
    const looks = LOOKS.reduce((sum, each) => sum + each, 0)
    // Upward for a repository, once more for the skills; five instructions a look; four folders of skills.
    expect(times('stat')).toBe((looks + 1) * depth + looks * 5)
    expect(times('resolve')).toBe(times('stat') + 4)
    expect([times('listDir'), times('streamText')]).toEqual([4, 1])
  })
})

describe('the goals', () => {
  it('have names of their own, and those of the long line are known', () => {
    const names = GOALS.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !FAR_GOALS.includes(name))).toEqual([
      'rate: fetch 512 MiB, on loopback, to sftp, ControlMaster',
      'rate: send 511 MiB, on loopback, to sftp, ControlMaster',
    ])
  })
})
