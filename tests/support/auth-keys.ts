/** Keys and certificates made by `ssh-keygen`, for tests of authentication. */
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface KeyWish {
  /** As `ssh-keygen -t` takes it; `ed25519` when absent. */
  readonly type?: string
  readonly passphrase?: string
  /** As `ssh-keygen -Z` takes it. */
  readonly cipher?: string
  /** As `ssh-keygen -m` takes it. */
  readonly format?: 'PEM' | 'PKCS8'
}

/** @returns the path of the private key; the public one is beside it. */
export function makeKey(folder: string, name: string, wish: KeyWish = {}): string {
  const file = join(folder, name)
  const { type = 'ed25519', passphrase = '', cipher, format } = wish
  const options = [
    ...(cipher === undefined ? [] : ['-Z', cipher]),
    ...(format === undefined ? [] : ['-m', format]),
    ...(type === 'rsa' ? ['-b', '2048'] : []),
  ]
  // One round of key derivation: it is not its strength that is tested.
  execFileSync('ssh-keygen', [
    '-q',
    '-a',
    '1',
    '-t',
    type,
    '-N',
    passphrase,
    '-C',
    name,
    ...options,
    '-f',
    file,
  ])
  return file
}

export function publicLine(keyFile: string): string {
  return readFileSync(`${keyFile}.pub`, 'utf8').trim()
}

export interface CertificateWish {
  /** Accounts; none when empty. */
  readonly principals: readonly string[]
  /** As `ssh-keygen -V` takes it. */
  readonly validity?: string
  /** A certificate for a host instead of a user. */
  readonly host?: boolean
}

/** @returns the path of the certificate, `<key>-cert.pub`. */
export function certify(authority: string, keyFile: string, wish: CertificateWish): string {
  const { principals, validity, host } = wish
  execFileSync('ssh-keygen', [
    ...['-q', '-s', authority, '-I', 'a test'],
    ...(host === true ? ['-h'] : []),
    ...(principals.length === 0 ? [] : ['-n', principals.join(',')]),
    ...(validity === undefined ? [] : ['-V', validity]),
    `${keyFile}.pub`,
  ])
  return `${keyFile}-cert.pub`
}

/** A copy of a private key alone, at another place. */
export function copyKey(keyFile: string, to: string): string {
  copyFileSync(keyFile, to)
  chmodSync(to, 0o600)
  return to
}
