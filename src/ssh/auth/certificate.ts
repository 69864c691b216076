/**
 * OpenSSH's certificates for users (PROTOCOL.certkeys): what one says, the plain key inside of it, and
 * why a server may not take it. Nobody but the server verifies the authority's signature.
 */
import { BlobReader, sshString } from './blob.ts'

export interface Certificate {
  readonly holder: 'user' | 'host' | 'unknown'
  readonly keyId: string
  /** Accounts that it lets in; empty means that it names none. */
  readonly principals: readonly string[]
  /** Seconds since 1970; the end is the first second in which it is no longer valid. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** Type and blob of the certified key itself. */
  readonly plainType: string
  readonly plainBlob: Buffer
}

/** Fields of the public key between the nonce and the serial number, by plain type. */
const KEY_FIELDS: Readonly<Record<string, number>> = {
  'ssh-rsa': 2,
  'ssh-dss': 4,
  'ssh-ed25519': 1,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
  'sk-ssh-ed25519@openssh.com': 2,
  'sk-ecdsa-sha2-nistp256@openssh.com': 3,
}

const FOREVER = 0xffff_ffff_ffff_ffffn

/**
 * @returns undefined when the blob is a plain key, or a certificate for a kind of key that is not known.
 * @throws MalformedBlobError
 */
export function parseCertificate(blob: Buffer): Certificate | undefined {
  const reader = new BlobReader(blob)
  const plainType = plainTypeOf(reader.text())
  const fields = plainType === undefined ? undefined : KEY_FIELDS[plainType]
  if (plainType === undefined || fields === undefined) return undefined
  reader.string() // the nonce
  const key = Array.from({ length: fields }, () => sshString(reader.string()))
  reader.uint64() // the serial number
  const holder = HOLDERS[reader.uint32()] ?? 'unknown'
  const keyId = reader.text()
  const names = new BlobReader(reader.string())
  const principals: string[] = []
  while (!names.done) principals.push(names.text())
  return {
    holder,
    keyId,
    principals,
    validAfter: reader.uint64(),
    validBefore: reader.uint64(),
    plainType,
    plainBlob: Buffer.concat([sshString(plainType), ...key]),
  }
}

const HOLDERS: Readonly<Record<number, Certificate['holder']>> = { 1: 'user', 2: 'host' }

function plainTypeOf(type: string): string | undefined {
  const base = /^(.+)-cert-v01@openssh\.com$/.exec(type)?.[1]
  return base?.startsWith('sk-') === true ? `${base}@openssh.com` : base
}

/** What is visibly wrong with a certificate for this account at this time; empty when nothing is. */
export function objectionsTo(certificate: Certificate, user: string, now: Date): string[] {
  const seconds = BigInt(Math.floor(now.getTime() / 1000))
  const { holder, principals, validAfter, validBefore } = certificate
  return [
    ...(holder === 'user' ? [] : [`it is a certificate for a ${holder}, not for a user`]),
    ...(seconds < validAfter ? [`it is not valid before ${dateOf(validAfter)}`] : []),
    ...(validBefore !== FOREVER && seconds >= validBefore ? [`it expired on ${dateOf(validBefore)}`] : []),
    ...(principals.includes(user)
      ? []
      : [
          `it is for ${principals.length === 0 ? 'no account by name' : principals.join(', ')}, not for ${user}`,
        ]),
  ]
}

function dateOf(seconds: bigint): string {
  return new Date(Number(seconds) * 1000).toISOString().replace('.000Z', 'Z')
}
