/**
 * SSH's binary encoding of keys, certificates and signatures (RFC 4251, section 5): strings with their
 * length before them, and integers. What the fields mean is known by those who read them.
 */
import { PresenceError } from '../../base/failure.ts'

/** The bytes end before what they promise. */
export class MalformedBlobError extends PresenceError {
  constructor(why: string) {
    super(why, 'refused')
  }
}

/** Reads fields one after the other; every method throws MalformedBlobError when they do not fit. */
export class BlobReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get done(): boolean {
    return this.#at === this.#bytes.length
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new MalformedBlobError('it ends too early')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  uint32(): number {
    return this.take(4).readUInt32BE(0)
  }

  uint64(): bigint {
    return this.take(8).readBigUInt64BE(0)
  }

  string(): Buffer {
    return this.take(this.uint32())
  }

  text(): string {
    return this.string().toString('utf8')
  }

  rest(): Buffer {
    return this.take(this.#bytes.length - this.#at)
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function sshString(value: Uint8Array | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** A non-negative `mpint` from its big-endian bytes. */
export function sshInteger(magnitude: Uint8Array): Buffer {
  let first = 0
  while (first < magnitude.length && magnitude[first] === 0) first += 1
  const bytes = magnitude.subarray(first)
  // A leading bit that is set would make it negative.
  const sign = (bytes[0] ?? 0) >= 0x80 ? [0] : []
  return sshString(Buffer.concat([Uint8Array.from(sign), bytes]))
}
