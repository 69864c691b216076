/** What the SFTP library is given of the server’s bytes, and what becomes of its packets. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { packet, string, TYPE, uint32, uint64 } from '../../scripts/machine/embedded/sftp/wire.ts'
import { textOfBytes } from '../../src/base/name-bytes.ts'
import { FromServer, forLibrary, fromLibrary, toServer } from '../../src/ssh/channel/name-bytes.ts'

const STRANGE = Buffer.from('636166e92e747874', 'hex')

/** Attributes of every kind, as servers may send them. */
const ATTRIBUTES = [
  uint32(0),
  Buffer.concat([uint32(0x1), uint64(5)]),
  Buffer.concat([uint32(0xf), uint64(5), uint32(1), uint32(2), uint32(0o100644), uint32(3), uint32(4)]),
  Buffer.concat([uint32(0x8000_0001), uint64(5), uint32(1), string('kind@example'), string(Buffer.of(0xff))]),
]

function names(...list: readonly (Buffer | string)[]): Buffer {
  const entries = list.map((name, index) =>
    Buffer.concat([string(name), string(`-rw ${String(name)}`), ATTRIBUTES[index % 4] ?? Buffer.alloc(0)]),
  )
  return packet(TYPE.name, uint32(7), uint32(list.length), ...entries)
}

const all = (bytes: Buffer): Buffer => Buffer.concat(new FromServer().push(bytes))

describe('what comes from a server', () => {
  it('is the same wherever it is cut, and only packets with such names are changed', () => {
    const data = packet(TYPE.data, uint32(1), string(randomBytes(70_000)))
    const stream = Buffer.concat([
      packet(TYPE.version, uint32(3)),
      names('plain', 'é🙂'),
      data,
      names(STRANGE, 'plain', STRANGE, STRANGE),
      packet(TYPE.status, uint32(1), uint32(0), string(''), string('')),
      data,
      names(),
    ])
    const whole = all(stream)
    for (let round = 0; round < 60; round += 1) {
      const filter = new FromServer()
      const pieces: Buffer[] = []
      let at = 0
      while (at < stream.length) {
        const length = 1 + Math.floor(Math.random() * (round % 2 === 0 ? 9000 : 90_000))
        pieces.push(...filter.push(stream.subarray(at, at + length)))
        at += length
      }
      expect(Buffer.concat(pieces).equals(whole)).toBe(true)
    }
    const bytewise = new FromServer()
    const head = stream.subarray(0, 300)
    expect(Buffer.concat([...head].flatMap((byte) => bytewise.push(Buffer.of(byte)))).length).toBeGreaterThan(
      0,
    )
    const plain = Buffer.concat([names('plain', 'é🙂'), data])
    expect(new FromServer().push(plain).length).toBeLessThanOrEqual(2)
    expect(all(plain).equals(plain)).toBe(true)
    expect(whole.includes(STRANGE)).toBe(false)
    expect(whole.includes(Buffer.from(forLibrary(textOfBytes(STRANGE))))).toBe(true)
  })

  it('passes as it is when it is no SFTP, or says of itself what is not so', () => {
    const broken = names(STRANGE)
    broken.writeUInt32BE(99, 9)
    const overlong = names(STRANGE)
    overlong.writeUInt32BE(0xffff_fff0, 13)
    for (const bytes of [
      Buffer.from('Welcome to the machine\n'),
      Buffer.from('With'),
      Buffer.alloc(4),
      broken,
      overlong,
    ]) {
      expect(all(bytes).equals(bytes)).toBe(true)
    }
  })
})

describe('what goes to a server', () => {
  const path = forLibrary(textOfBytes(STRANGE))
  it.each([
    ['a path', (name: Buffer | string) => packet(TYPE.stat, uint32(1), string(name))],
    [
      'a path and flags',
      (name: Buffer | string) => packet(TYPE.open, uint32(1), string(name), uint32(1), uint32(0)),
    ],
    ['two paths', (name: Buffer | string) => packet(TYPE.rename, uint32(1), string(name), string(name))],
    [
      'one such path of two',
      (name: Buffer | string) => packet(TYPE.rename, uint32(1), string('a'), string(name)),
    ],
    [
      'an extension with two paths',
      (name: Buffer | string) =>
        packet(TYPE.extended, uint32(1), string('posix-rename@openssh.com'), string(name), string('b')),
    ],
  ])('has the bytes of %s', (_what, request) => {
    expect(toServer(request(path)).equals(request(STRANGE))).toBe(true)
    expect(toServer(request('é'))).toEqual(request('é'))
  })

  it('is left alone where it is no path', () => {
    const handle = Buffer.of(0, 0xe9, 0, 0)
    for (const untouched of [
      packet(TYPE.init, uint32(3)),
      packet(TYPE.write, uint32(1), string(handle), uint64(0), string(Buffer.of(0, 0x61, 0, 0x62))),
      packet(TYPE.extended, uint32(1), string('fsync@openssh.com'), string(handle)),
      packet(TYPE.close, uint32(1), string(handle)),
    ]) {
      expect(toServer(untouched)).toBe(untouched)
    }
  })

  it('is the inverse of what came', () => {
    for (const hex of ['e9', '80', 'ff', 'd6d0cec4', '61e4bd62']) {
      const text = textOfBytes(Buffer.from(hex, 'hex'))
      expect(fromLibrary(forLibrary(text))).toBe(text)
      expect(Buffer.from(forLibrary(text)).toString('utf8')).toBe(forLibrary(text))
    }
  })
})
