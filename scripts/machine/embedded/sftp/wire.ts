/**
 * The packets of SFTP version 3 as bytes (draft-ietf-secsh-filexfer-02): framing, reading fields,
 * building answers. It knows no files. ssh2's own server side cannot announce extensions and mangles
 * names that are not UTF-8, so the rig speaks the protocol itself; names stay bytes throughout.
 */

export const TYPE = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attrs: 105,
  extended: 200,
  extendedReply: 201,
} as const

/** Flags of an attribute block: which fields follow. */
const ATTRIBUTES = { size: 1, owner: 2, mode: 4, times: 8 } as const

/** OpenSSH's own limit (sftp-common.h, SFTP_MAX_MSG_LENGTH). */
export const MAX_PACKET = 256 * 1024

/** Room for data in a packet; sftp-server.c announces the same in `limits@openssh.com`. */
export const MAX_DATA = MAX_PACKET - 1024

/** Attributes as a client may set them; an absent field is to be left alone. */
export interface Attributes {
  readonly size?: number
  readonly uid?: number
  readonly gid?: number
  readonly mode?: number
  /** Whole seconds since 1970. */
  readonly atime?: number
  readonly mtime?: number
}

export class MalformedPacketError extends Error {}

/** Cuts a byte stream into packets. */
export class PacketSplitter {
  #pending: Buffer = Buffer.alloc(0)

  /** @returns the packets that are complete now, each without its length. */
  push(chunk: Buffer): Buffer[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const packets: Buffer[] = []
    while (this.#pending.length >= 4) {
      const length = this.#pending.readUInt32BE(0)
      if (length < 1 || length > MAX_PACKET) throw new MalformedPacketError(`a packet of ${length} bytes`)
      if (this.#pending.length < 4 + length) break
      packets.push(this.#pending.subarray(4, 4 + length))
      this.#pending = this.#pending.subarray(4 + length)
    }
    return packets
  }
}

/** Reads the fields of one packet in order. */
export class Fields {
  readonly #bytes: Buffer
  #at = 0

  constructor(packet: Buffer) {
    this.#bytes = packet
  }

  byte(): number {
    return this.#take(1).readUInt8(0)
  }

  uint32(): number {
    return this.#take(4).readUInt32BE(0)
  }

  /** A 64-bit number; positions beyond 2^53 lose their last bits, and no file has them. */
  uint64(): number {
    return Number(this.#take(8).readBigUInt64BE(0))
  }

  bytes(): Buffer {
    return this.#take(this.uint32())
  }

  text(): string {
    return this.bytes().toString('utf8')
  }

  attributes(): Attributes {
    const flags = this.uint32()
    return {
      ...((flags & ATTRIBUTES.size) === 0 ? {} : { size: this.uint64() }),
      ...((flags & ATTRIBUTES.owner) === 0 ? {} : { uid: this.uint32(), gid: this.uint32() }),
      ...((flags & ATTRIBUTES.mode) === 0 ? {} : { mode: this.uint32() & 0o7777 }),
      ...((flags & ATTRIBUTES.times) === 0 ? {} : { atime: this.uint32(), mtime: this.uint32() }),
    }
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    if (taken.length < length) throw new MalformedPacketError('a packet that ends in the middle of a field')
    this.#at += length
    return taken
  }
}

/** A whole packet with its length, ready to send. */
export function packet(type: number, ...fields: readonly Buffer[]): Buffer {
  const body = Buffer.concat(fields)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(body.length + 1, 0)
  head.writeUInt8(type, 4)
  return Buffer.concat([head, body])
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0, 0)
  return bytes
}

export function uint64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value), 0)
  return bytes
}

export function string(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}

export interface StatLike {
  readonly mode: number
  readonly size: number
  readonly uid: number
  readonly gid: number
  readonly atimeMs: number
  readonly mtimeMs: number
}

export function attributesOf(stat: StatLike): Buffer {
  return Buffer.concat([
    uint32(ATTRIBUTES.size | ATTRIBUTES.owner | ATTRIBUTES.mode | ATTRIBUTES.times),
    uint64(stat.size),
    uint32(stat.uid),
    uint32(stat.gid),
    uint32(stat.mode),
    uint32(Math.floor(stat.atimeMs / 1000)),
    uint32(Math.floor(stat.mtimeMs / 1000)),
  ])
}

export const NO_ATTRIBUTES = uint32(0)
