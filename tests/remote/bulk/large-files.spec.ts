/** Large files both ways, on servers with many sessions, few and one, and who is served beside them. */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CancelledError } from '../../../src/base/failure.ts'
import { readAll, readChunks } from '../../../src/remote/files/read.ts'
import { startDropbear } from '../../support/dropbear.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { file, settled } from '../../ssh/life/line.ts'

const MIB = 1024 * 1024
const LIMIT = 1 << 20
const hash = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
/** Text, so that it can be saved; odd, so that no piece ends with it. */
const content = randomBytes(5 * MIB + 777).toString('hex')

interface Server {
  readonly rig: Pick<Rig, 'files' | 'machine'>
  readonly folder: string
  stop(): Promise<void>
}

async function openSsh(...sshdConfig: string[]): Promise<Server> {
  const rig = await startRig({ sshdConfig })
  return { rig, folder: rig.folder, stop: () => rig.stop() }
}

async function dropbear(): Promise<Server> {
  const bear = await startDropbear()
  return { rig: bear.visit(), folder: bear.account.home, stop: () => bear.stop() }
}

describe.each([
  ['ten sessions', () => openSsh('Subsystem sftp /usr/lib/openssh/sftp-server')],
  ['ten sessions and SFTP of its own', () => openSsh('MaxSessions 10')],
  ['two sessions', () => openSsh('MaxSessions 2')],
  ['one session', () => openSsh('MaxSessions 1')],
  ['a dropbear', dropbear],
] as const)('%s', (_title, start) => {
  let server: Server
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.stop())

  it(
    'a large file is the same as a whole, as a stream, in part, and saved',
    { timeout: 120_000 },
    async () => {
      const { rig, folder } = server
      const path = file(join(folder, 'large'))
      writeFileSync(path.path, content)
      expect(hash(await rig.files.readText(path))).toBe(hash(content))
      const streamed = createHash('sha256')
      for await (const piece of rig.files.streamText(path)) streamed.update(piece)
      expect(streamed.digest('hex')).toBe(hash(content))
      const part = await rig.files.readRange(path, 1_000_001, 7 * MIB)
      expect(hash(part)).toBe(hash(content.slice(1_000_001, 1_000_001 + 7 * MIB)))
      await rig.files.write(file(join(folder, 'saved')), content, { kind: 'none' }, LIMIT)
      expect(hash(readFileSync(join(folder, 'saved')))).toBe(hash(content))
      expect(readdirSync(folder).filter((name) => name.includes('presence'))).toEqual([])
    },
  )

  it('small requests are answered while a reader of a large file takes their time', async () => {
    const { rig, folder } = server
    writeFileSync(join(folder, 'slowly'), content)
    writeFileSync(join(folder, 'small'), 'small')
    const reader = rig.files.streamText(file(join(folder, 'slowly')))
    let read = (await reader.next()).value?.length ?? 0
    expect(await rig.files.readText(file(join(folder, 'small')))).toBe('small')
    await rig.files.write(file(join(folder, 'small')), 'changed', { kind: 'none' }, LIMIT)
    expect((await rig.files.stat(file(join(folder, 'small'))))?.size).toBe('changed'.length)
    for await (const piece of reader) read += piece.length
    expect(read).toBe(content.length)
  })

  it('several at once, both ways, are each right', { timeout: 120_000 }, async () => {
    const { rig, folder } = server
    writeFileSync(join(folder, 'many'), content)
    const texts = ['one', 'two', 'three'].map((name) => `${name}\n${content.slice(name.length)}`)
    await Promise.all([
      ...texts.map((text, index) =>
        rig.files.write(file(join(folder, `many${index}`)), text, { kind: 'none' }, LIMIT),
      ),
      ...texts.map(async () =>
        expect(hash(await rig.files.readText(file(join(folder, 'many'))))).toBe(hash(content)),
      ),
    ])
    const saved = texts.map((_text, index) => hash(readFileSync(join(folder, `many${index}`))))
    expect(saved).toEqual(texts.map(hash))
  })
})

describe('a reader of a large file', () => {
  let rig: Rig
  let folder = ''
  beforeAll(async () => {
    rig = await startRig()
    folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : '/var/tmp', 'presence-bulk-'))
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await rig.stop()
  })

  it('who stops for a while holds a bounded part of it', async () => {
    const path = join(folder, 'bounded')
    const block = 'x'.repeat(16 * MIB)
    for (let written = 0; written < 128 * MIB; written += block.length) appendFileSync(path, block)
    const session = await rig.machine.session()
    // The first reader teaches the line, so that as much as ever is allowed.
    let bytes = 0
    for await (const piece of readChunks(session, file(path), 128 * MIB)) bytes += piece.length
    expect(bytes).toBe(128 * MIB)
    const reader = readChunks(session, file(path), 128 * MIB)
    await reader.next()
    await expect.poll(() => session.link.flows.down.underWay).toBe(0)
    const held = process.memoryUsage().arrayBuffers
    await (await session.sftp()).stat('/')
    expect(process.memoryUsage().arrayBuffers - held).toBeLessThan(2 * MIB)
    expect(session.link.flows.down.underWay).toBe(0)
    expect(session.link.idleMs).toBe(0)
    await reader.return()
    await expect.poll(() => session.link.idleMs).toBeGreaterThan(0)
  })

  it('who leaves lets go of everything', async () => {
    const path = join(folder, 'left')
    writeFileSync(path, content)
    const session = await rig.machine.session()
    const leaving = new AbortController()
    const reading = async (): Promise<void> => {
      for await (const piece of readChunks(session, file(path), content.length, leaving.signal)) {
        leaving.abort(new Error(`left after ${piece.length}`))
      }
    }
    await expect(reading()).rejects.toBeInstanceOf(CancelledError)
    await expect.poll(() => [session.link.flows.down.underWay, session.link.idleMs > 0]).toEqual([0, true])
    expect(hash(await readAll(session, file(path), content.length, content.length))).toBe(hash(content))
  })
})

describe('a writer of a large file', () => {
  let rig: Rig
  beforeAll(async () => {
    rig = await startRig()
  })
  afterAll(() => rig.stop())

  it('who leaves at any moment leaves nothing behind, not even what was asked for on another channel', async () => {
    const folder = join(rig.folder, 'leaving')
    mkdirSync(folder)
    const { flows } = (await rig.machine.session()).link
    let struck = 0
    for (const turns of [0, 1, 2, 4, 8, 12, 16, 24, 32, 48]) {
      const leaving = new AbortController()
      const path = file(join(folder, 'f'))
      const writing = rig.files.write(path, content, { kind: 'none' }, LIMIT, { signal: leaving.signal })
      const outcome = settled(writing, 30_000, `after ${turns} turns`)
      await expect.poll(() => turns === 0 || flows.up.underWay > 0, { interval: 1 }).toBe(true)
      for (let turn = 1; turn < turns; turn += 1) await new Promise((resume) => setImmediate(resume))
      if (flows.up.underWay > 0) struck += 1
      leaving.abort(new Error('left'))
      const left = 'error' in (await outcome)
      expect(readdirSync(folder), `after ${turns} turns`).toEqual(left ? [] : ['f'])
      rmSync(path.path, { force: true })
      expect(flows.up.underWay).toBe(0)
    }
    expect(struck).toBeGreaterThan(2)
  })

  it('is told that the disk is full, and what was there stays', async () => {
    const disk = join(rig.folder, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', disk])
    try {
      writeFileSync(join(disk, 'f'), 'old')
      await expect(rig.files.write(file(join(disk, 'f')), content, { kind: 'none' }, LIMIT)).rejects.toThrow(
        /full/,
      )
      expect([readdirSync(disk), readFileSync(join(disk, 'f'), 'utf8')]).toEqual([['f'], 'old'])
    } finally {
      execFileSync('umount', [disk])
    }
    // What was on its way when one piece was refused is answered a little later.
    const { flows } = (await rig.machine.session()).link
    await expect.poll(() => flows.up.underWay).toBe(0)
  })
})
