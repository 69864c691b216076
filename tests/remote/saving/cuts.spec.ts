/**
 * A save whose line is cut, at every packet of it: what is there afterwards is the old content or the new,
 * and nothing else is left once the machine is used again.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LinkLostError } from '../../../src/ssh/errors.ts'
import type { WriteGuard } from '../../../src/remote/files/saving/change.ts'
import type { RemoteFiles } from '../../../src/remote/files/remote-files.ts'
import { startFakeServer, type FakeServer } from '../../support/fake-server.ts'
import type { Cut } from '../../support/proxy.ts'
import { rigOf, startRig, type Rig } from '../../support/rig.ts'
import { file, lineTo, settled, type Line, type Outcome } from '../../ssh/life/line.ts'

const OLD = 'old content\n'
const LIMIT = 1 << 20
const HANG_MS = 60_000
/** Lines that are cut at a time: what takes long is to connect anew. */
const LINES = 3

interface Save {
  readonly title: string
  readonly before: string | undefined
  readonly content: string
  readonly guard: WriteGuard['kind']
}

const REPLACE: Save = { title: 'replacing', before: OLD, content: 'new content\n', guard: 'version' }
const CREATE: Save = { title: 'creating', before: undefined, content: 'new content\n', guard: 'absent' }
const LARGE: Save = {
  title: 'replacing by much',
  before: OLD,
  content: 'much\n'.repeat(80_000),
  guard: 'none',
}

function contentIn(folder: string): string | undefined {
  const path = join(folder, 'f')
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** A folder as it is before the save. Connects, and puts right what the last cut left. */
async function start(folder: string, save: Save, files: RemoteFiles): Promise<WriteGuard> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  if (save.before !== undefined) writeFileSync(join(folder, 'f'), save.before)
  const stat = await files.stat(file(join(folder, 'f')))
  return save.guard === 'version' ? { kind: 'version', version: stat?.version ?? '' } : { kind: save.guard }
}

function write(folder: string, save: Save, guard: WriteGuard, files: RemoteFiles): Promise<Outcome<unknown>> {
  const writing = files.write(file(join(folder, 'f')), save.content, guard, LIMIT)
  return settled(writing, HANG_MS, save.title)
}

/** What is there is one of the two things that may be, and the one that was told. */
function judge(folder: string, save: Save, outcome: Outcome<unknown>, where: string): void {
  const there = contentIn(folder)
  if ('value' in outcome) {
    expect(there, where).toBe(save.content)
    return
  }
  expect(outcome.error, where).toBeInstanceOf(LinkLostError)
  expect([save.before, save.content], where).toContain(there)
  if (!(outcome.error as LinkLostError).outcomeUnknown) expect(there, where).toBe(save.before)
}

/** The next use puts everything right. */
async function judgeLater(
  folder: string,
  save: Save,
  outcome: Outcome<unknown>,
  files: RemoteFiles,
  where: string,
): Promise<void> {
  await files.stat(file(join(folder, 'f')))
  judge(folder, save, outcome, where)
  // A shell that has lost its line hears of it a moment later, and cleans up itself.
  await expect.poll(() => readdirSync(folder).filter((name) => name !== 'f'), { message: where }).toEqual([])
  judge(folder, save, outcome, where)
}

describe('OpenSSH', () => {
  let rig: Rig
  const lines: Line[] = []
  beforeAll(async () => {
    rig = await startRig()
    for (let index = 0; index < LINES; index += 1) lines.push(await lineTo(rig.server))
  })
  afterAll(async () => {
    for (const line of lines) await line.close()
    await rig.stop()
  })

  /** @returns whether the cut came before the end of the save. */
  async function cut(line: Line, folder: string, save: Save, where: Omit<Cut, 'by'>): Promise<boolean> {
    const told = `${save.title}, ${where.way} ${where.after}`
    const guard = await start(folder, save, line.files)
    const { made } = line.proxy
    line.proxy.cutNow({ ...where, by: 'reset' })
    const outcome = await write(folder, save, guard, line.files)
    line.proxy.cutNow(undefined)
    judge(folder, save, outcome, told)
    await judgeLater(folder, save, outcome, line.files, told)
    return line.proxy.made > made
  }

  it.each([
    ['by SFTP', REPLACE.title, REPLACE, 36],
    ['by SFTP', CREATE.title, CREATE, 26],
    ['by SFTP', LARGE.title, LARGE, 14],
    ['by its shell', REPLACE.title, REPLACE, 24],
    ['by its shell', CREATE.title, CREATE, 14],
  ] as const)(
    'F77: %s, %s: whole or not at all, wherever it is cut',
    { timeout: 300_000 },
    async (how, _title, save, each) => {
      for (const { machine } of lines) {
        machine.farFromMs = how === 'by SFTP' ? Number.POSITIVE_INFINITY : 0
      }
      const [first] = lines
      if (first === undefined) throw new Error('no line')
      const folder = join(rig.folder, 'whole')
      const guard = await start(folder, save, first.files)
      const before = { ...first.proxy.passed }
      expect(await write(folder, save, guard, first.files)).toHaveProperty('value')
      const places = (['up', 'down'] as const).flatMap((way) =>
        Array.from({ length: each }, (_, index) => ({
          way,
          after: Math.round(((first.proxy.passed[way] - before[way]) * index) / (each - 1)),
        })),
      )
      const count = places.length
      let struck = 0
      await Promise.all(
        lines.map(async (line, index) => {
          for (let place = places.shift(); place !== undefined; place = places.shift()) {
            if (await cut(line, join(rig.folder, `cut${index}`), save, place)) struck += 1
          }
        }),
      )
      console.log(`${save.title}, ${how}: ${struck} of ${count} cuts struck`)
      expect(struck).toBeGreaterThan(count * 0.85)
    },
  )
})

describe.each([
  {
    what: 'a server that cannot rename over a file',
    make: (fake: FakeServer) => {
      fake.offers = (extension) => !/posix-rename|hardlink|fsync/.test(extension)
    },
  },
  {
    what: 'a server of files alone that gives the last handle again',
    make: (fake: FakeServer) => {
      fake.runsCommands = false
      fake.handle = (closed) => closed.at(-1)
    },
  },
])('$what', ({ make }) => {
  let fake: FakeServer
  let rig: Rig
  let folder = ''
  beforeAll(async () => {
    fake = await startFakeServer()
    make(fake)
    folder = join(fake.home, 'saved')
  })
  afterAll(() => fake.stop())
  beforeEach(() => {
    rig = rigOf(fake.home, fake)
  })
  afterEach(() => rig.pool.close())

  it.each([
    [REPLACE.title, REPLACE],
    [CREATE.title, CREATE],
  ])(
    'F77: %s: the old or the new, whichever request is the last',
    { timeout: 120_000 },
    async (_title, save) => {
      let requests = 0
      fake.judge = ({ index }) => {
        requests = index
        return 'answer'
      }
      const guard = await start(folder, save, rig.files)
      const first = requests + 1
      expect(await write(folder, save, guard, rig.files)).toHaveProperty('value')
      const last = requests
      expect(contentIn(folder)).toBe(save.content)
      expect(readdirSync(folder)).toEqual(['f'])
      for (let request = first; request <= last; request += 1) {
        const told = `${save.title}, request ${request} of ${first} to ${last}`
        rig.pool.close()
        rig = rigOf(fake.home, fake)
        fake.breaking = { at: 'sftp-request', by: 'reset', request }
        const again = await start(folder, save, rig.files)
        const outcome = await write(folder, save, again, rig.files)
        fake.breaking = undefined
        await judgeLater(folder, save, outcome, rig.files, told)
      }
      console.log(`${save.title}: cut at each of ${last - first + 1} requests`)
    },
  )
})
