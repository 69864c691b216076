/** Signatures for authentication, in SSH's form: the algorithm's name, then what it gives (RFC 4253, 6.6). */
import { sign } from 'node:crypto'
import type { ParsedKey } from 'ssh2'
import { PresenceError } from '../../base/failure.ts'
import { BlobReader, sshInteger, sshString } from './blob.ts'

/** Signs with one key, wherever its private half is; `algorithm` is the signature's, not the certificate's. */
export type Sign = (data: Buffer, algorithm: string) => Promise<Buffer>

/** The signature cannot be had. The reason is fit for a person; the next identity may still work. */
export class SigningError extends PresenceError {
  constructor(message: string, cause?: unknown) {
    super(message, 'refused', { cause })
  }
}

const HASHES: Readonly<Record<string, string | undefined>> = {
  'rsa-sha2-256': 'sha256',
  'rsa-sha2-512': 'sha512',
  'ssh-rsa': 'sha1',
  'ssh-dss': 'sha1',
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
}

/** What a key of this type, or a certificate for one, signs with when nothing was negotiated. */
export function signatureAlgorithm(plainType: string): string {
  return plainType === 'ssh-rsa' ? 'rsa-sha2-512' : plainType
}

export function signWith(key: ParsedKey, data: Buffer, algorithm: string): Buffer {
  const hash = HASHES[algorithm] ?? null
  // Both of these are two numbers side by side to Node; one kind is two integers to SSH.
  const pair = algorithm.startsWith('ecdsa-') || algorithm === 'ssh-dss'
  const pem = key.getPrivatePEM()
  const signature = sign(hash, data, pair ? { key: pem, dsaEncoding: 'ieee-p1363' } : pem)
  if (!algorithm.startsWith('ecdsa-')) return Buffer.concat([sshString(algorithm), sshString(signature)])
  const half = signature.length / 2
  const numbers = Buffer.concat([
    sshInteger(signature.subarray(0, half)),
    sshInteger(signature.subarray(half)),
  ])
  return Buffer.concat([sshString(algorithm), sshString(numbers)])
}

/**
 * The part of a signature that comes after its algorithm.
 * @throws SigningError when it was made with another algorithm.
 */
export function bareSignature(signature: Buffer, algorithm: string): Buffer {
  const reader = new BlobReader(signature)
  const made = reader.text()
  if (made !== algorithm) throw new SigningError(`it signs only with ${made}, and not with ${algorithm}`)
  return reader.string()
}
