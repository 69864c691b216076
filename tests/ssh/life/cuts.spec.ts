/** The line is cut, or falls silent, after so many bytes of everything that is done over a connection. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Machine } from '../../../src/remote/machine.ts'
import type { MachineSettings } from '../../../src/ssh/config/settings.ts'
import type { Cut, Way } from '../../support/proxy.ts'
import { startFakeServer } from '../../support/fake-server.ts'
import { poolFor, settingsFor, startRig, type Rig } from '../../support/rig.ts'
import {
  expectTruthful,
  failureOf,
  file,
  lineTo,
  output,
  settled,
  watchProcess,
  type Line,
  type Outcome,
} from './line.ts'

const CONTENT = 'content of a file\n'.repeat(200)
/** Milliseconds after which a call of a cut course hangs: far beyond every limit that holds for it. */
const HANG_MS = 30_000

let rig: Rig
let watch: ReturnType<typeof watchProcess>
/** Bytes of the whole course in each direction. */
let whole: Readonly<Record<Way, number>>

beforeAll(async () => {
  rig = await startRig()
  watch = watchProcess()
  writeFileSync(join(rig.folder, 'read'), CONTENT)
  const line = await lineTo(rig.server)
  const outcomes = await course(line, 'whole')
  expect(outcomes.filter((outcome) => 'error' in outcome)).toEqual([])
  whole = { ...line.proxy.passed }
  await line.close()
})
afterAll(async () => {
  watch.stop()
  await rig.stop()
})

/** All that a session does, one after the other: connect, probe, SFTP, a read, a write, a command. */
async function course(line: Line, name: string): Promise<Outcome<unknown>[]> {
  const { files, machine } = line
  const written = file(join(rig.folder, `written-${name}`))
  const steps: [string, () => Promise<unknown>][] = [
    ['the session', () => machine.session()],
    ['a read', async () => expect(await files.readText(file(join(rig.folder, 'read')))).toBe(CONTENT)],
    ['a write', () => files.write(written, CONTENT, { kind: 'none' }, 1 << 20)],
    ['a command', async () => expect(await output(machine, ['echo', name], rig.folder)).toBe(`${name}\n`)],
  ]
  const outcomes: Outcome<unknown>[] = []
  for (const [what, act] of steps) outcomes.push(await settled(act(), HANG_MS, `${name}: ${what}`))
  return outcomes
}

async function cutCourse(
  cut: Cut,
  change: Partial<MachineSettings>,
  requestMs: number | undefined,
): Promise<boolean> {
  const name = `${cut.by}-${cut.way}-${cut.after}`
  const line = await lineTo(rig.server, change)
  try {
    line.requestMs = requestMs
    line.proxy.cutNext(cut)
    const outcomes = await course(line, name)
    expectTruthful(line.connection.state, name)
    line.requestMs = undefined
    line.change = {}
    const { current } = line.machine
    if (current !== undefined) current.link.requestMs = HANG_MS
    // The next use works, and finds what was written whole or not at all.
    expect(await line.files.readText(file(join(rig.folder, 'read'))), name).toBe(CONTENT)
    expect(line.connection.state.kind, name).toBe('ready')
    const written = file(join(rig.folder, `written-${name}`))
    const stat = await line.files.stat(written)
    const confirmed = 'value' in (outcomes[2] ?? {})
    if (confirmed || stat !== undefined) expect(await line.files.readText(written), name).toBe(CONTENT)
    return outcomes.some((outcome) => 'error' in outcome) || line.proxy.made > 1
  } finally {
    await line.close()
  }
}

/** Places from the first byte of a direction to its last, evenly. */
function places(by: Cut['by'], count: number): Cut[] {
  return (['up', 'down'] as const).flatMap((way) =>
    Array.from({ length: count }, (_, index) => ({
      way,
      by,
      after: Math.round(((whole[way] - 1) * index) / (count - 1)),
    })),
  )
}

async function sweep(
  cuts: readonly Cut[],
  change: Partial<MachineSettings> = {},
  requestMs?: number,
): Promise<void> {
  const left = [...cuts]
  let struck = 0
  const worker = async (): Promise<void> => {
    for (let cut = left.shift(); cut !== undefined; cut = left.shift()) {
      if (await cutCourse(cut, change, requestMs)) struck += 1
    }
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  // The last bytes may be a farewell that nobody misses.
  expect(struck).toBeGreaterThan(cuts.length * 0.8)
  expect(readdirSync(rig.folder).filter((name) => name.includes('.presence-'))).toEqual([])
  expect(watch.escaped).toEqual([])
}

describe('a line', () => {
  it('F40, F47: that is reset after any number of bytes fails each call by its kind, is told truly and is made anew', async () => {
    await sweep(places('reset', 20))
  }, 120_000)

  it('that is ended politely after any number of bytes does the same', async () => {
    await sweep(places('end', 6))
  }, 60_000)

  it('whose server is heard no more while it still listens does the same', async () => {
    await sweep(places('half-close', 4).filter(({ way }) => way === 'down'))
  }, 60_000)

  it('F38, F47: that falls silent after any number of bytes is found out by the limits, at every stage', async () => {
    await sweep(
      places('freeze', 6),
      { connectTimeoutMs: 700, keepaliveIntervalMs: 300, keepaliveCountMax: 3 },
      700,
    )
  }, 60_000)

  it('F40: that is reset right after it was ended ends nothing else', async () => {
    for (const pauseMs of [undefined, 0, 2]) {
      const line = await lineTo(rig.server)
      const session = await line.machine.session()
      const underWay = [
        settled(session.exec('sleep 5'), HANG_MS, 'a command of an ended connection'),
        settled(
          line.files.readText(file(join(rig.folder, 'read'))),
          HANG_MS,
          'a read over an ended connection',
        ),
      ]
      line.connection.drop()
      if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      line.proxy.reset()
      await Promise.all(underWay)
      expect(await line.files.readText(file(join(rig.folder, 'read')))).toBe(CONTENT)
      await line.close()
      line.proxy.reset()
    }
    expect(watch.escaped).toEqual([])
  })

  it('F40: that is ended while its first channel opens ends nothing else', async () => {
    for (const turns of [0, 1, 2, 5]) {
      const line = await lineTo(rig.server)
      line.proxy.delayMs = 1
      const link = await line.connection.link()
      const opening = settled(link.exec('true'), HANG_MS, 'a channel of an ended connection')
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      line.connection.drop()
      expect(await opening).toMatchObject({ error: { family: 'transport' } })
      // What the server still says arrives behind the end.
      await new Promise((resolve) => setTimeout(resolve, 30))
      await line.close()
    }
    expect(watch.escaped).toEqual([])
  })

  it('F40: that is lost before a command was said to have begun leaves open whether it has', async () => {
    const fake = await startFakeServer()
    const pool = poolFor(() => settingsFor(fake))
    try {
      for (const by of ['reset', 'end', 'disconnect', 'silence'] as const) {
        const machine = new Machine(pool.connection('demo'))
        const session = await machine.session()
        session.link.requestMs = 300
        fake.breaking = { at: 'command', by }
        const failed = await failureOf(session.exec('true'))
        fake.breaking = undefined
        expect(failed, by).toMatchObject({ family: 'transport', outcomeUnknown: true })
        // A machine that was heard a moment ago is suspected only by the next request.
        if (by === 'silence') pool.connection('demo').drop()
        expect(session.link.alive, by).toBe(false)
      }
      const machine = new Machine(pool.connection('demo'))
      // What waits for a command has run nothing.
      await machine.session()
      fake.breaking = { at: 'command', by: 'reset' }
      const unstarted = await failureOf(output(machine, ['true'], fake.home))
      fake.breaking = undefined
      expect(unstarted).toMatchObject({ family: 'transport', outcomeUnknown: false })
      // One that was never asked for has not begun.
      const session = await machine.session()
      pool.connection('demo').drop()
      expect(await failureOf(session.exec('true'))).toMatchObject({ outcomeUnknown: false })
    } finally {
      pool.close()
      await fake.stop()
    }
  })
})
