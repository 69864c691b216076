/** What watching costs: requests and bytes on the wire, and nothing for who has nothing to tell. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { RemoteFiles } from '../../../src/remote/files/remote-files.ts'
import { contentsDiffer, contentsOf } from '../../../src/remote/files/watch/contents.ts'
import { differs, type Observation } from '../../../src/remote/files/watch/observation.ts'
import { Pace } from '../../../src/remote/files/watch/pace.ts'
import { parseTold } from '../../../src/remote/files/watch/tokens.ts'
import { Machine } from '../../../src/remote/machine.ts'
import { lineTo } from '../../ssh/life/line.ts'
import { startFakeServer, type FakeServer } from '../../support/fake-server.ts'
import { poolFor, settingsFor, startRig, type Rig } from '../../support/rig.ts'
import { listen } from './ears.ts'

const SFTP_ONLY = ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp']

function makeFiles(folder: string, count: number): string[] {
  return Array.from({ length: count }, (_unused, index) => {
    const path = join(folder, `file-${index}`)
    writeFileSync(path, String(index))
    return path
  })
}

/** As the rounds go while nothing changes. */
function looksInAnIdleMinute(): number {
  const pace = new Pace(1000)
  let looks = 0
  for (let at = 0; at <= 60_000; at += pace.ms, looks += 1) pace.slower(15_000)
  return looks
}

describe.each([
  ['one question to a shell', []],
  ['a burst of SFTP requests', SFTP_ONLY],
])('a look at many paths by %s', (_name, sshdConfig) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await startRig({ sshdConfig })
  })
  afterAll(() => rig.stop())

  it('F104: 50 files that do not change cost less than 2 kB a second', async () => {
    const line = await lineTo(rig.server)
    const paths = makeFiles(mkdtempSync(join(rig.folder, 'w-')), 50).map(parseRemotePath)
    await line.files.observe(paths)
    const before = line.proxy.passed.up + line.proxy.passed.down
    await line.files.observe(paths)
    const bytes = line.proxy.passed.up + line.proxy.passed.down - before
    await line.close()
    expect((bytes * looksInAnIdleMinute()) / 60).toBeLessThan(2000)
  })

  it('says of each, in its order, what it is', async () => {
    const folder = mkdtempSync(join(rig.folder, 'w-'))
    const paths = makeFiles(folder, 1500)
    for (const path of paths.filter((_path, index) => index % 3 === 0)) rmSync(path)
    for (const path of paths.filter((_path, index) => index % 3 === 1)) {
      rmSync(path)
      mkdirSync(path)
    }
    const found = await rig.files.observe([...paths, paths[1] ?? ''].map((path) => parseRemotePath(path)))
    const kinds = found.map((one) => (one.kind === 'there' ? (one.folder ? 'folder' : 'file') : one.kind))
    expect(kinds).toEqual([...paths.map((_path, index) => ['absent', 'folder', 'file'][index % 3]), 'folder'])
  })

  it('sums up the entries of folders: each that comes, goes or changes, and nothing below', async () => {
    const folder = mkdtempSync(join(rig.folder, 'w-'))
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    mkdirSync(join(folder, 'sub'))
    makeFiles(folder, 3)
    const session = await rig.machine.session()
    const folders = [folder, empty, join(folder, 'none')].map(parseRemotePath)
    const sums = (): ReturnType<typeof contentsOf> => contentsOf(session, folders)
    let [before] = await sums()
    const differ = async (change: () => void): Promise<boolean> => {
      change()
      const [now = { kind: 'unknown' } as const] = await sums()
      const changed = contentsDiffer(before, now)
      before = now
      return changed
    }
    expect((await sums()).map(({ kind }) => kind)).toEqual(['sum', 'sum', 'unknown'])
    expect(await differ(() => undefined)).toBe(false)
    expect(await differ(() => writeFileSync(join(folder, 'file-1'), 'longer'))).toBe(true)
    expect(await differ(() => writeFileSync(join(folder, '.hidden'), ''))).toBe(true)
    expect(await differ(() => writeFileSync(join(folder, '..odd'), ''))).toBe(true)
    expect(await differ(() => rmSync(join(folder, 'file-2')))).toBe(true)
    expect(await differ(() => writeFileSync(join(folder, 'sub/deeper'), ''))).toBe(false)
    expect(await differ(() => utimesSync(join(folder, 'sub'), 1, 1))).toBe(false)
  })
})

describe('rounds', () => {
  let fake: FakeServer
  const asked: string[] = []
  beforeAll(async () => {
    fake = await startFakeServer()
    fake.judge = ({ name }) => {
      asked.push(name)
      return 'answer'
    }
  })
  afterAll(() => fake.stop())
  const A_FEW_LOOKS_MS = 5000
  /** After one second, and half as long again each time. */
  const LOOKS = 3

  const watched = async (count: number): Promise<number> => {
    const pool = poolFor(() => settingsFor(fake))
    const files = new RemoteFiles(new Machine(pool.connection(fake.alias)))
    const all = await Promise.all(
      makeFiles(mkdtempSync(join(fake.home, 'w-')), count).map((path) => listen(files, path)),
    )
    asked.length = 0
    await new Promise((resolve) => setTimeout(resolve, A_FEW_LOOKS_MS))
    const requests = asked.length
    for (const ears of all) {
      expect(ears.told).toBe(0)
      await ears.end()
    }
    pool.close()
    return requests
  }

  it('ask nothing of SFTP where a shell tells what it has to tell', async () => {
    expect(await watched(50)).toBe(0)
  })

  it('ask once for each path where none does, less and less often', async () => {
    const bin = join(dirname(fake.home), 'bin')
    for (const program of ['stat', 'inotifywait']) {
      writeFileSync(join(bin, program), '#!/bin/sh\nexit 1\n')
      chmodSync(join(bin, program), 0o755)
    }
    const requests = await watched(50)
    expect(requests).toBeGreaterThan(0)
    expect(requests).toBeLessThanOrEqual(50 * LOOKS)
    expect(new Set(asked)).toEqual(new Set(['stat']))
  })
})

describe('what one look says beside another', () => {
  const stat = (token: string): Observation => ({
    kind: 'there',
    folder: false,
    by: 'stat',
    token,
    common: '1:2:3',
  })
  const sftp = (token: string, common = '1:2:3'): Observation => ({
    kind: 'there',
    folder: false,
    by: 'sftp',
    token,
    common,
  })

  it('is compared by what both know when the two were told by different ways', () => {
    expect(differs(stat('a'), stat('a'))).toBe(false)
    expect(differs(stat('a'), stat('b'))).toBe(true)
    expect(differs(stat('a'), sftp('b'))).toBe(false)
    expect(differs(sftp('b'), stat('a'))).toBe(false)
    expect(differs(stat('a'), sftp('b', '1:3:3'))).toBe(true)
    expect(differs(stat('a'), { kind: 'absent' })).toBe(true)
    expect(differs({ kind: 'absent' }, { kind: 'absent' })).toBe(false)
  })

  it('is read by the paths that were asked for, whatever their names look like', () => {
    const token = '1:2:3:4.5:6.7:81a4'
    const odd = `/x\n${token} /y`
    const paths = ['/x', odd, '/gone', '/y'].map(parseRemotePath)
    const lines = ['/x', odd, '/y'].map((path) => `${token} ${path}\n`).join('')
    expect(parseTold(lines, paths).map(([path]) => path)).toEqual(['/x', odd, '/y'])
    expect(parseTold('stat: what is this\n', paths)).toEqual([])
    expect(parseTold('', paths)).toEqual([])
  })
})
