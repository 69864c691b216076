/** Public keys and certificates as they stand in `.pub` files and in agents: a type, its bytes, a comment. */
import { PresenceError, messageOf, systemCode } from '../../base/failure.ts'
import { keyType } from '../trust/fingerprint.ts'
import { parseCertificate, type Certificate } from './certificate.ts'
import { NoSmallFileError, readSmallFile } from './small-file.ts'

/** Bytes; certificates of RSA keys with many principals are the longest. */
const LONGEST_PUBLIC_KEY = 256 * 1024

export interface PublicKey {
  readonly type: string
  readonly blob: Buffer
  readonly comment: string
  readonly certificate: Certificate | undefined
}

export type PublicKeyFile =
  | { readonly kind: 'public'; readonly key: PublicKey }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unusable'; readonly reason: string }

/** @throws MalformedKeyError, MalformedBlobError */
export function publicKeyOf(blob: Buffer, comment: string): PublicKey {
  return { type: keyType(blob), blob, comment, certificate: parseCertificate(blob) }
}

/** The key of a line `type base64 comment`, or undefined when the text is no such line. */
export function publicKeyIn(text: string): PublicKey | undefined {
  const [, type, base64, comment] =
    /^\s*([a-z][\w.@-]*) +([A-Za-z0-9+/]+=*)(?:[ \t]+(\S.*?))?\s*$/m.exec(text) ?? []
  if (type === undefined || base64 === undefined) return undefined
  try {
    const key = publicKeyOf(Buffer.from(base64, 'base64'), comment ?? '')
    return key.type === type ? key : undefined
  } catch (error) {
    // Words that only look like a key.
    if (error instanceof PresenceError) return undefined
    throw error
  }
}

export async function readPublicKey(path: string): Promise<PublicKeyFile> {
  let text: string
  try {
    text = (await readSmallFile(path, LONGEST_PUBLIC_KEY)).text
  } catch (error) {
    if (error instanceof NoSmallFileError) return { kind: 'unusable', reason: error.message }
    const code = systemCode(error)
    if (code === undefined) throw error
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' }
    return { kind: 'unusable', reason: messageOf(error) }
  }
  const key = publicKeyIn(text)
  return key === undefined ? { kind: 'unusable', reason: 'it holds no public key' } : { kind: 'public', key }
}

export function samePublicKey(a: PublicKey, b: PublicKey): boolean {
  return a.blob.equals(b.blob)
}
