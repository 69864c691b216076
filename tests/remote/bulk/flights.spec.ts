/** What is asked for together, shown by servers that leave the first of it without an answer. */
import { createHash, randomBytes } from 'node:crypto'
import { appendFileSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { STATUS } from '../../../scripts/machine/embedded/sftp/status.ts'
import { TYPE } from '../../../scripts/machine/embedded/sftp/wire.ts'
import { readAll } from '../../../src/remote/files/read.ts'
import { contentOfBytes } from '../../../src/remote/files/saving/content.ts'
import { writeTemporary } from '../../../src/remote/files/saving/temporary.ts'
import type { MachineSession } from '../../../src/remote/session.ts'
import {
  startFakeServer,
  type FakeServer,
  type SftpRequest,
  type Verdict,
} from '../../support/fake-server.ts'
import { rigOf, type Rig } from '../../support/rig.ts'
import { file } from '../../ssh/life/line.ts'

const KIB = 1024
const MIB = 1024 * KIB

let fake: FakeServer
let rig: Rig
let session: MachineSession
const asked: SftpRequest['name'][] = []
beforeEach(async () => {
  fake = await startFakeServer()
  rig = rigOf(fake.home, fake)
  session = await rig.machine.session()
  await session.sftp()
  asked.length = 0
  judge(() => 'answer')
})
afterEach(async () => {
  rig.pool.close()
  await fake.stop()
})

function judge(verdict: (name: SftpRequest['name'], times: number) => Verdict): void {
  fake.judge = ({ name }) => {
    asked.push(name)
    return verdict(name, asked.filter((one) => one === name).length)
  }
}

const at = (name: string): string => join(fake.home, name)
const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const write = (name: string, size: number, outfit?: Parameters<typeof writeTemporary>[3]): Promise<void> =>
  writeTemporary(session, file(at(name)).path, contentOfBytes(randomBytes(size)), outfit, undefined)

describe('a small file', () => {
  it('is read in one flight after it was opened, its end included', async () => {
    writeFileSync(at('f'), 'x'.repeat(100 * KIB))
    judge((name) => (name === 'read' ? 'never' : 'answer'))
    const reading = readAll(session, file(at('f')), 100 * KIB, MIB)
    reading.catch((_nobodyAnswers: unknown) => undefined)
    await expect.poll(() => asked).toEqual(['open', 'read', 'read'])
  })

  it('is written in one flight after it was made: content, owner, permissions, disk and close', async () => {
    await write('first', 10)
    asked.length = 0
    judge((name) => (name === 'write' ? 'never' : 'answer'))
    const { uid, gid } = statSync(at('first'))
    const writing = write('second', 200 * KIB, { mode: 0o640, uid, gid })
    writing.catch((_nobodyAnswers: unknown) => undefined)
    await expect
      .poll(() => asked)
      .toEqual(['open', 'write', 'fsetstat', 'fsetstat', 'fstat', 'extended', 'close'])
  })

  it('of another owner is looked at first, as long as it is not known who we are', async () => {
    writeFileSync(at('theirs'), '')
    chownSync(at('theirs'), 1234, 4321)
    judge((name) => (name === 'fstat' ? 'never' : 'answer'))
    const writing = write('first', 10, { mode: 0o640, uid: 1234, gid: 4321 })
    writing.catch((_nobodyAnswers: unknown) => undefined)
    await expect.poll(() => asked).toEqual(['open', 'write', 'fstat'])
  })

  it.each(['write', 'extended', 'close'] as const)(
    'is not saved when the server refuses the %s',
    async (one) => {
      judge((name) => (name === one ? { status: STATUS.failure } : 'answer'))
      await expect(write('f', 10)).rejects.toMatchObject({ status: 'failure' })
    },
  )

  it('is saved where files cannot be looked at when they are open', async () => {
    judge((name) => (name === 'fstat' ? { status: STATUS.unsupported } : 'answer'))
    await write('f', 10)
    await write('g', 10, { mode: 0o644, uid: 0, gid: 0 })
    expect((statSync(at('g')).mode & 0o777).toString(8)).toBe('644')
  })
})

describe('a large file', () => {
  it('stops being sent when a piece is refused', async () => {
    judge((name, times) => (name === 'write' && times === 2 ? { status: STATUS.failure } : 'answer'))
    let sent = 0
    fake.alter = (request) => {
      sent += request.length
      return request
    }
    await expect(write('f', 40 * MIB)).rejects.toMatchObject({ status: 'failure' })
    await expect.poll(() => session.link.flows.up.underWay).toBe(0)
    expect(sent).toBeLessThan(20 * MIB)
  })

  it.each([1000, 32 * KIB])('is whole on a server that answers %i bytes at most', async (most) => {
    fake.alter = (request) => {
      if (request[0] !== TYPE.read) return request
      const altered = Buffer.from(request)
      altered.writeUInt32BE(Math.min(most, altered.readUInt32BE(altered.length - 4)), altered.length - 4)
      return altered
    }
    const content = randomBytes(3 * MIB + 5)
    writeFileSync(at('f'), content)
    expect(hash(await readAll(session, file(at('f')), content.length, 4 * MIB))).toBe(hash(content))
  })

  it('is whole, and sent in pieces that all servers bear, where no limits are told', async () => {
    fake.offers = (extension) => !extension.startsWith('limits')
    rig.pool.close()
    rig = rigOf(fake.home, fake)
    session = await rig.machine.session()
    let longest = 0
    fake.alter = (request) => {
      longest = Math.max(longest, request.length)
      return request
    }
    const content = randomBytes(3 * MIB + 5)
    await writeTemporary(session, file(at('f')).path, contentOfBytes(content), undefined, undefined)
    expect(hash(readFileSync(at('f')))).toBe(hash(content))
    expect(longest).toBeLessThanOrEqual(34_000)
    expect(hash(await readAll(session, file(at('f')), content.length, 4 * MIB))).toBe(hash(content))
  })

  it('that is longer or shorter than it was said to be is read to its end', async () => {
    const content = randomBytes(2 * MIB)
    writeFileSync(at('f'), content)
    for (const size of [0, 10, MIB, 2 * MIB - 1, 2 * MIB + 1, 3 * MIB, 9 * MIB]) {
      expect(hash(await readAll(session, file(at('f')), size, 16 * MIB)), `${size}`).toBe(hash(content))
    }
  })

  it('that grows with every request for it has an end', async () => {
    writeFileSync(at('f'), 'x'.repeat(1000))
    judge((name) => {
      if (name === 'read') appendFileSync(at('f'), 'more')
      return 'answer'
    })
    const found = (await readAll(session, file(at('f')), 1000, MIB)).toString()
    expect(found).toMatch(/^x{1000}(more)+$/)
    expect(asked.filter((name) => name === 'read').length).toBeLessThan(5)
  })
})
