/** Reads and writes beside the library, whatever pieces the answers come in and whoever else is answered. */
import { describe, expect, it } from 'vitest'
import { BrokenPacket, BulkRequests } from '../../../src/ssh/channel/bulk-requests.ts'
import { Fields, packet, string, TYPE, uint32 } from '../../../scripts/machine/embedded/sftp/wire.ts'

const HANDLE = Buffer.from('a handle')

interface Heard {
  readonly sent: Buffer[]
  readonly bulk: BulkRequests
  /** Number of the latest request. */
  id(): Buffer
}

function begin(): Heard {
  const sent: Buffer[] = []
  const bulk = new BulkRequests((data) => sent.push(Buffer.from(data)))
  const id = (): Buffer => {
    const requests = sent.filter((one) => one.length > 30)
    return requests.at(-1)?.subarray(5, 9) ?? Buffer.alloc(4)
  }
  return { sent, bulk, id }
}

function reading({ bulk, id }: Heard, length: number): { id: Buffer; into: Buffer; done: Promise<number> } {
  const into = Buffer.alloc(length)
  const done = new Promise<number>((resolve, reject) =>
    bulk.read(HANDLE, 7, into, (error, bytes) => (error === undefined ? resolve(bytes) : reject(error))),
  )
  return { id: id(), into, done }
}

const status = (id: Buffer, code: number, words: string): Buffer =>
  packet(TYPE.status, id, uint32(code), string(words), string('en'))

describe('requests beside the library', () => {
  it('are those of the protocol', () => {
    const heard = begin()
    reading(heard, 4000)
    const [read] = heard.sent
    const fields = new Fields((read ?? Buffer.alloc(0)).subarray(4))
    expect([fields.byte(), fields.uint32() >= 0x8000_0000, fields.text()]).toEqual([
      TYPE.read,
      true,
      'a handle',
    ])
    expect((read ?? Buffer.alloc(0)).subarray(-12)).toEqual(
      Buffer.concat([uint32(0), uint32(7), uint32(4000)]),
    )
    const data = Buffer.from('some content')
    heard.bulk.write(HANDLE, 0x1_0000_0002, data, () => undefined)
    const [, ...written] = heard.sent
    const whole = Buffer.concat(written)
    expect(whole.readUInt32BE(0)).toBe(whole.length - 4)
    expect(whole.readUInt8(4)).toBe(TYPE.write)
    expect(whole.subarray(-12 - data.length)).toEqual(
      Buffer.concat([uint32(1), uint32(2), uint32(data.length), data]),
    )
  })

  it('get their answers wherever these are cut, and the library gets all others unchanged', async () => {
    for (let size = 1; size < 60; size += 1) {
      const heard = begin()
      const first = reading(heard, 20)
      const second = reading(heard, 8)
      const third = reading(heard, 8)
      const others = [
        packet(TYPE.name, uint32(1), uint32(0)),
        status(uint32(2), 0, 'fine'),
        packet(TYPE.data, uint32(3), string('x'.repeat(50))),
      ]
      const stream = Buffer.concat([
        ...others.slice(0, 1),
        packet(TYPE.data, second.id, string('12345678')),
        ...others.slice(1, 2),
        packet(TYPE.data, first.id, string('fewer')),
        status(third.id, 1, 'end of file'),
        ...others.slice(2),
      ])
      const passed: Buffer[] = []
      for (let at = 0; at < stream.length; at += size) {
        passed.push(...heard.bulk.receive(stream.subarray(at, at + size)))
      }
      expect(Buffer.concat(passed), `${size}`).toEqual(Buffer.concat(others))
      expect(await Promise.all([first.done, second.done, third.done])).toEqual([5, 8, 0])
      expect([first.into.toString('utf8', 0, 5), second.into.toString()]).toEqual(['fewer', '12345678'])
    }
  })

  it('fail with the server’s code and words, or with the code alone', async () => {
    const heard = begin()
    const [first, second] = [reading(heard, 10), reading(heard, 10)]
    heard.bulk.receive(status(first.id, 3, 'not yours'))
    heard.bulk.receive(packet(TYPE.status, second.id, uint32(4)))
    await expect(first.done).rejects.toMatchObject({ code: 3, message: 'not yours' })
    await expect(second.done).rejects.toMatchObject({ code: 4, message: 'status 4' })
  })

  it('fail when there will be no answer, and what comes all the same is not taken for one', async () => {
    const heard = begin()
    const one = reading(heard, 10)
    heard.bulk.fail(new Error('gone'))
    await expect(one.done).rejects.toThrow('gone')
    const late = packet(TYPE.data, one.id, string('late'))
    expect(Buffer.concat(heard.bulk.receive(late))).toEqual(late)
    expect(one.into).toEqual(Buffer.alloc(10))
  })

  it.each([
    ['more than was asked for', (id: Buffer) => packet(TYPE.data, id, string('x'.repeat(11)))],
    ['less than a status is', (id: Buffer) => packet(TYPE.status, id, uint32(4).subarray(0, 2))],
  ])('do not go on behind an answer that is %s', async (_title, answer) => {
    const heard = begin()
    const one = reading(heard, 10)
    const failed = expect(one.done).rejects.toBeInstanceOf(BrokenPacket)
    expect(() => heard.bulk.receive(answer(one.id))).toThrow(BrokenPacket)
    await failed
  })

  it('do not believe data of another length than it says', async () => {
    const heard = begin()
    const one = reading(heard, 10)
    heard.bulk.receive(packet(TYPE.data, one.id, uint32(9), Buffer.from('short')))
    await expect(one.done).rejects.toBeInstanceOf(BrokenPacket)
  })

  it('leave words that are no packets to the library', () => {
    const { bulk } = begin()
    for (const text of ['Hello', 'Welcome to this machine!\n']) {
      expect(Buffer.concat(bulk.receive(Buffer.from(text))).toString()).toBe(text)
    }
  })
})
