/** Reading and listing from servers that answer in every way that the protocol allows, and in some that it does not. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { STATUS } from '../../../scripts/machine/embedded/sftp/status.ts'
import { packet, string, TYPE, uint32, uint64 } from '../../../scripts/machine/embedded/sftp/wire.ts'
import {
  startFakeServer,
  type FakeServer,
  type SftpRequest,
  type Verdict,
} from '../../support/fake-server.ts'
import { rigOf, type Rig } from '../../support/rig.ts'
import { file } from '../../ssh/life/line.ts'

let fake: FakeServer
let rig: Rig
const asked: SftpRequest['name'][] = []
beforeEach(async () => {
  fake = await startFakeServer()
  rig = rigOf(fake.home, fake)
  asked.length = 0
  fake.judge = judging(() => 'answer')
})
afterEach(async () => {
  rig.pool.close()
  await fake.stop()
})

function judging(judge: (name: SftpRequest['name'], before: number) => Verdict): FakeServer['judge'] {
  return ({ name }) => {
    asked.push(name)
    return judge(name, asked.filter((one) => one === name).length)
  }
}

const count = (name: SftpRequest['name']): number => asked.filter((one) => one === name).length
const at = (name: string): string => join(fake.home, name)
const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Read requests ask for no more than so many bytes. */
function answerAtMost(bytes: number): void {
  fake.alter = (request) => {
    if (request[0] !== TYPE.read) return request
    const altered = Buffer.from(request)
    const length = altered.length - 4
    altered.writeUInt32BE(Math.min(bytes, altered.readUInt32BE(length)), length)
    return altered
  }
}

describe('reading', () => {
  it.each([
    [1, [0, 1, 2, 300]],
    [1000, [999, 1000, 1001, 131_071, 131_072, 131_073]],
    [32_768, [32_767, 32_768, 32_769, 262_143, 262_144, 262_145, 1_048_577]],
    [65_537, [65_536, 65_537, 131_073, 1_000_000]],
  ])('F88: answers of at most %i bytes are no end of the file', async (most, sizes) => {
    answerAtMost(most)
    for (const size of sizes) {
      const content = randomBytes(size)
      writeFileSync(at('f'), content)
      expect(hash(await rig.files.readBytes(file(at('f')), size)), `${size}`).toBe(hash(content))
      const range = await rig.files.readRange(file(at('f')), 1, size)
      expect(hash(range), `${size} from 1`).toBe(hash(content.subarray(1)))
    }
  })

  it('asks for a bounded part ahead of a reader who takes its time', async () => {
    writeFileSync(at('large'), 'x'.repeat(8 * 1024 * 1024))
    const text = rig.files.streamText(file(at('large')))
    let read = (await text.next()).value?.length ?? 0
    // What was asked for ahead has arrived before the answer to this.
    await rig.files.stat(file(at('large')))
    expect(count('read')).toBeLessThanOrEqual(10)
    read += (await text.next()).value?.length ?? 0
    expect(read).toBe(2 * 64 * 1024)
    await text.return()
    await expect.poll(() => count('close')).toBe(1)
    expect(count('read')).toBeLessThanOrEqual(11)
  })

  it('gives a prefix of a file that grows, a whole one of those that take turns, and what is left of one that shrinks', async () => {
    const path = at('f')
    writeFileSync(path, 'a'.repeat(300_000))
    fake.judge = judging((name, times) => {
      if (name === 'read' && times === 2) writeFileSync(path, 'b'.repeat(10), { flag: 'a' })
      return 'answer'
    })
    const grown = await rig.files.readText(file(path))
    expect(grown).toMatch(/^a{300000}b{0,10}$/)
    asked.length = 0
    fake.judge = judging((name, times) => {
      if (name === 'read' && times === 2) {
        writeFileSync(at('next'), 'c'.repeat(300_000))
        renameSync(at('next'), path)
      }
      return 'answer'
    })
    expect(await rig.files.readText(file(path))).toBe(grown.padEnd(300_010, 'b'))
    expect(await rig.files.readText(file(path))).toBe('c'.repeat(300_000))
    asked.length = 0
    fake.judge = judging((name, times) => {
      if (name === 'read' && times === 2) truncateSync(path, 150_000)
      return 'answer'
    })
    expect(await rig.files.readText(file(path))).toMatch(/^c{150000,300000}$/)
  })

  it('reads a file whole of which the server says that it is empty, however long it is', async () => {
    const content = randomBytes(1_000_000)
    writeFileSync(at('f'), content)
    let id = 0
    fake.alter = (request) => {
      if (request[0] === TYPE.stat) id = request.readUInt32BE(1)
      return request
    }
    const [size, mode] = [1, 4]
    fake.judge = judging((name) =>
      name === 'stat'
        ? {
            bytes: packet(TYPE.attrs, uint32(id), uint32(size | mode), uint64(0), uint32(0o100644)),
          }
        : 'answer',
    )
    expect(hash(await rig.files.readBytes(file(at('f')), 1_000_000))).toBe(hash(content))
    await expect(rig.files.readBytes(file(at('f')), 999_999)).rejects.toMatchObject({ code: 'too-large' })
    expect(hash(await rig.files.readRange(file(at('f')), 5, 999_990))).toBe(hash(content.subarray(5, -5)))
  })

  it('says that a read failed, and closes the file', async () => {
    writeFileSync(at('f'), 'a'.repeat(300_000))
    fake.judge = judging((name, times) =>
      name === 'read' && times === 2 ? { status: STATUS.failure } : 'answer',
    )
    await expect(rig.files.readText(file(at('f')))).rejects.toMatchObject({ code: 'io' })
    await rig.files.stat(file(at('f')))
    expect(count('close')).toBe(1)
  })
})

describe('listing', () => {
  const names = (listed: readonly { readonly name: string }[]): string[] => listed.map(({ name }) => name)

  it('asks for nothing of plain entries', async () => {
    mkdirSync(at('d'))
    for (let index = 0; index < 1000; index += 1) writeFileSync(at(`d/f${index}`), '')
    symlinkSync('f1', at('d/link'))
    await rig.files.stat(file(at('d')))
    asked.length = 0
    expect(await rig.files.list(file(at('d')))).toHaveLength(1001)
    expect([count('stat'), count('lstat'), count('realpath'), count('opendir')]).toEqual([2, 0, 1, 1])
    await rig.files.stat(file(at('d')))
    expect(count('close')).toBe(1)
  })

  it('F97: goes on behind batches that are empty or late, and ends at the end', async () => {
    mkdirSync(at('d'))
    for (let index = 0; index < 250; index += 1) writeFileSync(at(`d/f${index}`), '')
    await rig.files.stat(file(at('d')))
    asked.length = 0
    const ids: number[] = []
    fake.alter = (request) => {
      if (request[0] === TYPE.readdir) ids.push(request.readUInt32BE(1))
      return request
    }
    fake.judge = judging((name, times) => {
      if (name !== 'readdir') return 'answer'
      if (times === 1) return { bytes: packet(TYPE.name, uint32(ids.at(-1) ?? 0), uint32(0)) }
      return times === 3 ? { late: 200 } : 'answer'
    })
    expect(await rig.files.list(file(at('d')))).toHaveLength(250)
  })

  it('F97: a server that lists nothing for ever is told so', async () => {
    mkdirSync(at('d'))
    let id = 0
    fake.alter = (request) => {
      if (request[0] === TYPE.readdir) id = request.readUInt32BE(1)
      return request
    }
    fake.judge = judging((name) =>
      name === 'readdir' ? { bytes: packet(TYPE.name, uint32(id), uint32(0)) } : 'answer',
    )
    await expect(rig.files.list(file(at('d')))).rejects.toThrow('the server lists nothing without an end')
  })

  it('F97: an error in the middle is one, and the folder is closed', async () => {
    mkdirSync(at('d'))
    for (let index = 0; index < 250; index += 1) writeFileSync(at(`d/f${index}`), '')
    fake.judge = judging((name, times) =>
      name === 'readdir' && times === 2 ? { status: STATUS.failure } : 'answer',
    )
    await expect(rig.files.list(file(at('d')))).rejects.toMatchObject({ code: 'io' })
    await rig.files.stat(file(at('d')))
    expect(count('close')).toBe(1)
  })

  it('asks for the types that a server does not tell', async () => {
    mkdirSync(at('d'))
    mkdirSync(at('d/sub'))
    writeFileSync(at('d/f'), '12345')
    let id = 0
    fake.alter = (request) => {
      if (request[0] === TYPE.readdir) id = request.readUInt32BE(1)
      return request
    }
    const bare = (name: string): Buffer => Buffer.concat([string(name), string(name), uint32(0)])
    fake.judge = judging((name, times) =>
      name === 'readdir' && times === 1
        ? { bytes: packet(TYPE.name, uint32(id), uint32(2), bare('sub'), bare('f')) }
        : name === 'readdir'
          ? { status: STATUS.eof }
          : 'answer',
    )
    const listed = await rig.files.list(file(at('d')))
    expect(listed.map(({ name, type, size }) => [name, type, size])).toMatchObject([
      ['f', 'file', 5],
      ['sub', 'directory', expect.anything()],
    ])
  })

  it('F92: of names that a server lists alike, because it reads them so itself, one is the file of that name', async () => {
    mkdirSync(at('d'))
    writeFileSync(at('d/caf\ufffd.txt'), 'decoy')
    let id = 0
    fake.alter = (request) => {
      if (request[0] === TYPE.readdir) id = request.readUInt32BE(1)
      return request
    }
    const bare = (name: string): Buffer => Buffer.concat([string(name), string(name), uint32(0)])
    const listed = ['caf\ufffd.txt', 'caf\ufffd.txt', 'gone\ufffd']
    fake.judge = judging((name, times) =>
      name === 'readdir' && times === 1
        ? { bytes: packet(TYPE.name, uint32(id), uint32(listed.length), ...listed.map(bare)) }
        : name === 'readdir'
          ? { status: STATUS.eof }
          : 'answer',
    )
    const entries = await rig.files.list(file(at('d')))
    expect(names(entries)).toEqual(listed)
    expect(entries.map(({ type, version }) => [type, version === undefined]).toSorted()).toEqual([
      ['file', expect.any(Boolean)],
      ['other', true],
      ['other', true],
    ])
  })
})
