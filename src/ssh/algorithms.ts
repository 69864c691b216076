/**
 * Which of the algorithm names in a configuration the transport library can speak. Names it does not
 * know are dropped from a list, as `ssh` drops what its own build lacks; an empty rest is an error.
 *
 * Source: the lists in ssh2 1.17's `lib/protocol/constants.js`; a test offers each name to the library.
 */
import { applyAlgorithms } from './config/algorithms.ts'
import type { AlgorithmChoice } from './config/settings.ts'
import { ConnectError } from './errors.ts'

const SUPPORTED = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group-exchange-sha256',
    'diffie-hellman-group14-sha256',
    'diffie-hellman-group15-sha512',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group17-sha512',
    'diffie-hellman-group18-sha512',
    'diffie-hellman-group-exchange-sha1',
    'diffie-hellman-group14-sha1',
    'diffie-hellman-group1-sha1',
  ],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
    'chacha20-poly1305@openssh.com',
    'aes128-cbc',
    'aes192-cbc',
    'aes256-cbc',
    '3des-cbc',
  ],
  hmac: [
    'hmac-sha2-256-etm@openssh.com',
    'hmac-sha2-512-etm@openssh.com',
    'hmac-sha1-etm@openssh.com',
    'hmac-sha2-256',
    'hmac-sha2-512',
    'hmac-sha1',
    'hmac-md5',
  ],
  serverHostKey: [
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'rsa-sha2-512',
    'rsa-sha2-256',
    'ssh-rsa',
    'ssh-dss',
  ],
} as const

export type AlgorithmKind = keyof typeof SUPPORTED

/** What is offered without configuration: all of the above but the broken ones. */
export const DEFAULTS: Readonly<Record<AlgorithmKind, readonly string[]>> = {
  kex: SUPPORTED.kex.filter((name) => !name.endsWith('-sha1')),
  cipher: SUPPORTED.cipher.filter((name) => !name.endsWith('-cbc')),
  hmac: SUPPORTED.hmac.filter((name) => !name.endsWith('-md5')),
  serverHostKey: SUPPORTED.serverHostKey.filter((name) => name !== 'ssh-rsa' && name !== 'ssh-dss'),
}

/**
 * What to offer for a configured choice, in order of preference.
 * @throws ConnectError `no-common-algorithm` when nothing of it can be spoken here.
 */
export function offer(kind: AlgorithmKind, choice: AlgorithmChoice | undefined, machine: string): string[] {
  const names = applyAlgorithms(choice, DEFAULTS[kind], SUPPORTED[kind])
  if (names.length === 0) {
    throw new ConnectError(
      `none of the configured ${kind} algorithms (${choice?.patterns.join(', ') ?? ''}) is supported here`,
      'no-common-algorithm',
      { machine, stage: 'config' },
    )
  }
  return names
}

/** Host key algorithms with those of the known key types first, so that a known key is asked for. */
export function preferKnownTypes(offer: readonly string[], knownTypes: readonly string[]): string[] {
  const algorithmsOf = (type: string): string[] =>
    type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'] : [type]
  const first = knownTypes.flatMap(algorithmsOf).filter((name) => offer.includes(name))
  return [...new Set([...first, ...offer])]
}
