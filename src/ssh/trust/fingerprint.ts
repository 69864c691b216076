/** What a public key is called: its type and its SHA256 fingerprint, as `ssh-keygen -l` prints them. */
import { createHash } from 'node:crypto'
import { PresenceError } from '../../base/failure.ts'

export interface KeyDescription {
  /** `ssh-ed25519`, `ecdsa-sha2-nistp256`, `ssh-rsa`, …: the name inside of the key. */
  readonly type: string
  /** `SHA256:` and 43 characters of base64 without padding. */
  readonly sha256: string
}

/** The bytes are not a public key in the format of RFC 4253, section 6.6. */
export class MalformedKeyError extends PresenceError {
  constructor(why: string) {
    super(`not a public key: ${why}`, 'refused')
  }
}

/** @throws MalformedKeyError */
export function describeKey(blob: Uint8Array): KeyDescription {
  const digest = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  return { type: keyType(blob), sha256: `SHA256:${digest}` }
}

/**
 * The type that the key itself names.
 * @throws MalformedKeyError
 */
export function keyType(blob: Uint8Array): string {
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength)
  if (bytes.length < 4) throw new MalformedKeyError('it is shorter than the length of its type')
  const length = bytes.readUInt32BE(0)
  if (length === 0 || 4 + length >= bytes.length) throw new MalformedKeyError('its type does not fit in it')
  const type = bytes.toString('latin1', 4, 4 + length)
  if (!/^[\x21-\x7e]+$/.test(type)) throw new MalformedKeyError('its type is not a name')
  return type
}
