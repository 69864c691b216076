/** Handles that are foretold: which one, when none, and what becomes of what was read by a wrong one. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { STATUS } from '../../scripts/machine/embedded/sftp/status.ts'
import { TYPE } from '../../scripts/machine/embedded/sftp/wire.ts'
import { CancelledError } from '../../src/base/failure.ts'
import { ForetoldHandles, type Opening } from '../../src/ssh/channel/foretold-handle.ts'
import type { SftpChannel, SftpHandle } from '../../src/ssh/channel/sftp.ts'
import { startFakeServer, type FakeServer, type SftpRequest, type Verdict } from '../support/fake-server.ts'
import { rigOf, startRig, type Rig } from '../support/rig.ts'
import { file } from './life/line.ts'

/** A server's handles, by rules of its own. */
class Table {
  readonly #give: (free: number[], made: number) => number
  readonly free: number[] = []
  made = 0

  constructor(give: (free: number[], made: number) => number) {
    this.#give = give
  }

  open(): Buffer {
    const handle = this.#give(this.free, this.made)
    if (handle === this.made) this.made += 1
    const at = this.free.indexOf(handle)
    if (at >= 0) this.free.splice(at, 1)
    return Buffer.from([0, 0, 0, handle])
  }

  close(handle: Buffer): void {
    this.free.push(handle.readUInt32BE(0))
  }
}

const LAST_CLOSED = (free: number[], made: number): number => free.at(-1) ?? made
const LOWEST = (free: number[], made: number): number => free.toSorted((a, b) => a - b)[0] ?? made
const NEVER_AGAIN = (_free: number[], made: number): number => made

/** Small numbers that look random, the same ones each time. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

describe('what is foretold', () => {
  it.each([
    ['gives again what was closed last', LAST_CLOSED, { most: 1000, wrong: 0 }],
    ['gives the lowest number', LOWEST, { most: 1000, wrong: 1 }],
    ['gives no number twice', NEVER_AGAIN, { most: 0, wrong: 0 }],
  ])('of a server that %s, whatever is open and under way', (_what, give, { most, wrong }) => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const roll = dice(seed)
      const server = new Table(give)
      const foretold = new ForetoldHandles(true)
      const open: Buffer[] = []
      const underWay: { foretold: Buffer | undefined; answer: Buffer | undefined; told(): void }[] = []
      let [right, missed] = [0, 0]
      const settle = (): void => {
        const first = underWay.shift()
        if (first === undefined) return
        first.told()
        if (first.answer !== undefined) open.push(first.answer)
        if (first.foretold === undefined || first.answer === undefined) return
        if (first.foretold.equals(first.answer)) right += 1
        else missed += 1
      }
      for (let step = 0; step < 300; step += 1) {
        const what = roll(10)
        if (what < 3) {
          // What is sent is answered in its order, some time later; some of it is refused.
          const opening = foretold.opening()
          const answer = roll(5) === 0 ? undefined : server.open()
          underWay.push({ foretold: opening.foretold, answer, told: () => opening.answered(answer) })
        } else if (what < 7) settle()
        else {
          const [handle] = open.splice(roll(open.length), 1)
          if (handle === undefined) continue
          foretold.closing(handle)
          server.close(handle)
        }
      }
      while (underWay.length > 0) settle()
      expect(missed, `seed ${seed}`).toBeLessThanOrEqual(wrong)
      expect(right, `seed ${seed}`).toBeLessThanOrEqual(most)
      if (give === LAST_CLOSED) expect(right, `seed ${seed}`).toBeGreaterThan(5)
    }
  })

  it('is nothing before the server was seen to do so, beside another open, and where it must not be', () => {
    const [one, two] = [Buffer.from('one'), Buffer.from('two')]
    const handles = new ForetoldHandles(true)
    const opened = (handle: Buffer): Buffer | undefined => {
      const opening = handles.opening()
      opening.answered(handle)
      return opening.foretold
    }
    expect([opened(one), opened(two)]).toEqual([undefined, undefined])
    handles.closing(two)
    expect(opened(two)).toBeUndefined()
    handles.closing(two)
    handles.closing(one)
    const first = handles.opening()
    const second = handles.opening()
    expect([first.foretold, second.foretold]).toEqual([one, undefined])
    first.answered(one)
    second.answered(two)
    handles.closing(one)
    expect(opened(one)).toEqual(one)

    const never = new ForetoldHandles(false)
    for (let time = 0; time < 3; time += 1) {
      const opening = never.opening()
      expect(opening.foretold).toBeUndefined()
      opening.answered(one)
      never.closing(one)
    }
  })
})

describe('a server whose handles are given in its own order', () => {
  let fake: FakeServer
  let rig: Rig
  let sftp: SftpChannel
  const asked: SftpRequest['name'][] = []
  const at = (name: string): string => join(fake.home, name)
  const read = (name: string): Promise<string> => rig.files.readText(file(at(name)))
  const reads = (): number => asked.filter((name) => name === 'read').length

  beforeEach(async () => {
    fake = await startFakeServer()
    rig = rigOf(fake.home, fake)
    sftp = await (await rig.machine.session()).sftp()
    judge(() => 'answer')
    for (const name of ['one', 'two', 'three', 'four']) writeFileSync(at(name), `content of ${name}`)
  })
  afterEach(async () => {
    rig.pool.close()
    await fake.stop()
  })

  function judge(verdict: (name: SftpRequest['name']) => Verdict): void {
    asked.length = 0
    fake.judge = ({ name }) => {
      asked.push(name)
      return verdict(name)
    }
  }

  function giveHandles(...given: number[]): void {
    fake.handle = () => given.shift() ?? 99
  }

  it('is read in one flight with the open, once it was seen to give the last one again', async () => {
    giveHandles(7, 7, 7)
    for (const name of ['one', 'two', 'three']) expect(await read(name)).toBe(`content of ${name}`)
    // Nothing else is on its way any more.
    await sftp.stat('/')
    judge((name) => (name === 'open' ? 'never' : 'answer'))
    read('three').catch((_nobodyAnswers: unknown) => undefined)
    await expect.poll(() => asked).toEqual(['stat', 'open', 'read', 'read'])
  })

  it('gives right contents by another handle than the last one, and is never asked by a guess again', async () => {
    giveHandles(7, 7, 8, 7, 8, 8)
    for (const name of ['one', 'two']) await read(name)
    judge(() => 'answer')
    expect(await read('three')).toBe('content of three')
    expect(reads(), 'by the foretold handle and by the true one').toBe(4)
    judge(() => 'answer')
    for (const name of ['four', 'one', 'two']) expect(await read(name)).toBe(`content of ${name}`)
    expect(reads()).toBe(6)
  })

  it.each(['a file', 'a folder'])(
    'is believed by the true handle only, when the foretold one has become that of %s',
    async (what) => {
      giveHandles(9, 7, 7, 8)
      writeFileSync(at('foreign'), 'foreign'.repeat(40_000))
      mkdirSync(at('folder'))
      if (what === 'a file') await sftp.openForReading(at('foreign'))
      else await sftp.openFolder(at('folder'))
      for (const name of ['one', 'two']) await read(name)
      fake.alter = (request) => {
        if (request[0] !== TYPE.read || request.readUInt32BE(9) !== 7) return request
        const altered = Buffer.from(request)
        altered.writeUInt32BE(9, 9)
        return altered
      }
      judge(() => 'answer')
      for (const [name, text] of [
        ['mine', 'mine '.repeat(40_000)],
        ['empty', ''],
      ] as const) {
        writeFileSync(at(name), text)
        expect((await read(name)) === text, name).toBe(true)
      }
      expect(reads()).toBeGreaterThan(4)
    },
  )

  it('says what the open failed with, whatever the foretold handle says, and is believed on', async () => {
    giveHandles(7, 7, 7)
    for (const name of ['one', 'two']) await read(name)
    judge((name) => (name === 'open' ? { status: STATUS.permissionDenied } : 'answer'))
    await expect(read('three')).rejects.toMatchObject({ code: 'permission-denied' })
    judge(() => 'answer')
    expect(await read('four')).toBe('content of four')
    expect(asked).toContain('read')
  })

  it('closes what was opened for a reader who has left', async () => {
    judge((name) => (name === 'open' ? { late: 50 } : 'answer'))
    const leaving = new AbortController()
    const opening = sftp.openForReading(at('one'), leaving.signal)
    leaving.abort()
    await expect(opening).rejects.toThrow(CancelledError)
    await expect.poll(() => asked).toEqual(['open', 'close'])
  })
})

describe.each([
  ['internal-sftp', []],
  ['the sftp-server program', ['Subsystem sftp /usr/lib/openssh/sftp-server']],
])('OpenSSH by %s', (_which, sshdConfig) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await startRig({ sshdConfig })
  })
  afterAll(() => rig.stop())

  it('gives the foretold handles, whatever is opened and closed at a time', async () => {
    const sftp = await (await rig.machine.session()).sftp()
    const path = join(rig.folder, 'f')
    writeFileSync(path, 'content')
    const foretelling = vi.spyOn(ForetoldHandles.prototype, 'opening')
    const roll = dice(5)
    const open: SftpHandle[] = []
    const closing: Promise<void>[] = []
    let right = 0
    for (let step = 0; step < 120; step += 1) {
      const opened = Array.from({ length: 1 + roll(3) }, async () => {
        const opening = sftp.openForReading(roll(5) === 0 ? `${path} that is not there` : path)
        const foretold = (foretelling.mock.results.at(-1)?.value as Opening).foretold
        const handle = await opening.catch((_notThere: unknown) => undefined)
        if (handle === undefined) return
        open.push(handle)
        if (foretold === undefined) return
        expect(handle).toEqual(foretold)
        right += 1
      })
      if (roll(2) === 0) await Promise.all(opened)
      for (let closes = roll(5); closes > 0; closes -= 1) {
        const [handle] = open.splice(roll(open.length), 1)
        if (handle !== undefined) closing.push(sftp.close(handle))
      }
      await Promise.all(opened)
    }
    await Promise.all(closing)
    foretelling.mockRestore()
    expect(right).toBeGreaterThan(5)
  })
})
