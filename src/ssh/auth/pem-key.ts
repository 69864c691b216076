/**
 * Private keys in PEM, as OpenSSL writes them: PKCS#8 (which the SSH library cannot read) and the older
 * forms, plain or encrypted. Node's own OpenSSL opens them all; what comes out is what the library reads.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { PresenceError, messageOf, systemCode } from '../../base/failure.ts'
import { sshString } from './blob.ts'
import { unencryptedKey } from './openssh-key.ts'

const HEADER = /-----BEGIN (ENCRYPTED |RSA |EC |DSA |)PRIVATE KEY-----/

/** OpenSSL's codes for a wrong passphrase: noticed at the padding, or by what came out of it. */
const WRONG_PASSPHRASE = ['ERR_OSSL_BAD_DECRYPT', 'ERR_OSSL_EVP_BAD_DECRYPT', 'ERR_OSSL_UNSUPPORTED']

export class PemKeyError extends PresenceError {
  constructor(reason: string, cause?: unknown) {
    super(reason, 'refused', { cause })
  }
}

export function isPem(text: string): boolean {
  return HEADER.test(text)
}

export function isEncryptedPem(text: string): boolean {
  return HEADER.exec(text)?.[1] === 'ENCRYPTED ' || /^Proc-Type: *4, *ENCRYPTED/m.test(text)
}

/**
 * The key without encryption, in a form that the library reads; undefined when the passphrase is wrong.
 * @throws PemKeyError
 */
export function openPem(text: string, passphrase?: string): string | undefined {
  let key: KeyObject
  try {
    key = createPrivateKey({ key: text, ...(passphrase === undefined ? {} : { passphrase }) })
  } catch (error) {
    if (passphrase !== undefined && WRONG_PASSPHRASE.includes(systemCode(error) ?? '')) return undefined
    throw new PemKeyError(messageOf(error), error)
  }
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return key.export({ type: 'pkcs1', format: 'pem' }).toString()
    case 'ec':
      return key.export({ type: 'sec1', format: 'pem' }).toString()
    case 'ed25519':
      return ed25519(key)
    default:
      throw new PemKeyError(`SSH has no keys of the kind ${key.asymmetricKeyType ?? 'unknown'}, or no longer`)
  }
}

/** There is no older PEM for it, so it goes into OpenSSH's container. */
function ed25519(key: KeyObject): string {
  const { x, d } = key.export({ format: 'jwk' })
  if (x === undefined || d === undefined) throw new PemKeyError('it holds no private key')
  const [open, secret] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')]
  const type = sshString('ssh-ed25519')
  const both = sshString(Buffer.concat([secret, open]))
  return unencryptedKey(Buffer.concat([type, sshString(open)]), Buffer.concat([type, sshString(open), both]))
}
