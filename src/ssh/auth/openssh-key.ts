/**
 * OpenSSH's own container for private keys (PROTOCOL.key): its public half, which is never encrypted, and
 * its private section, decrypted with any of OpenSSH's ciphers. What comes out goes into an unencrypted
 * container, which the SSH library reads; it lacks one of the ciphers, and takes a wrong passphrase for a
 * broken file with another.
 */
import { createDecipheriv, randomBytes, type CipherGCMTypes } from 'node:crypto'
import { BlobReader, MalformedBlobError, sshString, uint32 } from './blob.ts'
import { deriveKey } from './derive-key.ts'
import { publicKeyOf, type PublicKey } from './public-key.ts'

export interface OpenSshKey {
  readonly cipher: string
  readonly publicKey: PublicKey
  readonly encrypted: boolean
  /**
   * An unencrypted container with the same key, or undefined when the passphrase is wrong.
   * @throws MalformedBlobError for a cipher that is not known and for a file that is broken.
   */
  open(passphrase: string): Promise<string | undefined>
}

const MAGIC = 'openssh-key-v1\0'
const ARMOUR = /-----BEGIN OPENSSH PRIVATE KEY-----([\s\S]+?)-----END OPENSSH PRIVATE KEY-----/

/**
 * @returns undefined when the text is no such container.
 * @throws MalformedBlobError, MalformedKeyError
 */
export function parseOpenSshKey(text: string): OpenSshKey | undefined {
  const base64 = ARMOUR.exec(text)?.[1]
  if (base64 === undefined) return undefined
  const reader = new BlobReader(Buffer.from(base64, 'base64'))
  if (reader.take(MAGIC.length).toString('latin1') !== MAGIC)
    throw new MalformedBlobError('it is no OpenSSH key')
  const cipher = reader.text()
  const derivation = reader.text()
  const derivationOptions = reader.string()
  if (reader.uint32() !== 1) throw new MalformedBlobError('it holds more than one key')
  const publicKey = publicKeyOf(reader.string(), '')
  const section = reader.string()
  const tag = reader.rest()
  return {
    cipher,
    publicKey,
    encrypted: cipher !== 'none',
    open: async (passphrase) => {
      const known = CIPHERS[cipher]
      if (known === undefined)
        throw new MalformedBlobError(`it is encrypted with ${cipher}, which is not known here`)
      if (derivation !== 'bcrypt')
        throw new MalformedBlobError(`its key derivation ${derivation} is not known here`)
      const options = new BlobReader(derivationOptions)
      const key = await deriveKey({
        passphrase,
        salt: Uint8Array.from(options.string()),
        rounds: options.uint32(),
        length: known.keyLength + known.ivLength,
      })
      const plain = decrypt(known, key, section, tag)
      return plain === undefined || !checks(plain) ? undefined : armoured(publicKey.blob, plain)
    },
  }
}

/** An unencrypted container for a key whose fields are known. */
export function unencryptedKey(publicBlob: Buffer, privateFields: Buffer): string {
  const check = randomBytes(4)
  const section = Buffer.concat([check, check, privateFields, sshString('')])
  const padding = Uint8Array.from({ length: (8 - (section.length % 8)) % 8 }, (_, index) => index + 1)
  return armoured(publicBlob, Buffer.concat([section, padding]))
}

interface Cipher {
  /** The name that Node knows it by. */
  readonly name: string
  readonly keyLength: number
  readonly ivLength: number
  readonly kind: 'plain' | 'gcm' | 'chacha'
}

const aes = (bits: number, mode: 'cbc' | 'ctr'): Cipher => ({
  name: `aes-${bits}-${mode}`,
  keyLength: bits / 8,
  ivLength: 16,
  kind: 'plain',
})
const gcm = (bits: number): Cipher => ({
  name: `aes-${bits}-gcm`,
  keyLength: bits / 8,
  ivLength: 12,
  kind: 'gcm',
})

/** The ciphers of `ssh-keygen -Z` (cipher.c). */
const CIPHERS: Readonly<Record<string, Cipher>> = {
  '3des-cbc': { name: 'des-ede3-cbc', keyLength: 24, ivLength: 8, kind: 'plain' },
  'aes128-cbc': aes(128, 'cbc'),
  'aes192-cbc': aes(192, 'cbc'),
  'aes256-cbc': aes(256, 'cbc'),
  'rijndael-cbc@lysator.liu.se': aes(256, 'cbc'),
  'aes128-ctr': aes(128, 'ctr'),
  'aes192-ctr': aes(192, 'ctr'),
  'aes256-ctr': aes(256, 'ctr'),
  'aes128-gcm@openssh.com': gcm(128),
  'aes256-gcm@openssh.com': gcm(256),
  // Two keys of 32 bytes; the second one encrypts packet lengths, which a file has not.
  'chacha20-poly1305@openssh.com': { name: 'chacha20', keyLength: 64, ivLength: 0, kind: 'chacha' },
}

/** @returns undefined when the cipher itself notices that the key is wrong. */
function decrypt(cipher: Cipher, derived: Buffer, section: Buffer, tag: Buffer): Buffer | undefined {
  const key = derived.subarray(0, cipher.keyLength)
  const iv = derived.subarray(cipher.keyLength)
  switch (cipher.kind) {
    case 'plain': {
      const decipher = createDecipheriv(cipher.name, key, iv).setAutoPadding(false)
      return Buffer.concat([decipher.update(section), decipher.final()])
    }
    case 'gcm': {
      const decipher = createDecipheriv(cipher.name as CipherGCMTypes, key, iv, { authTagLength: 16 })
      decipher.setAuthTag(tag)
      const plain = decipher.update(section)
      try {
        return Buffer.concat([plain, decipher.final()])
      } catch (_doesNotAuthenticate) {
        return undefined
      }
    }
    case 'chacha': {
      // Block 0 is for the tag, the text begins with block 1; the nonce is packet number 0. The tag is not
      // needed to notice a wrong key: the two check numbers do that, as for the ciphers that have no tag.
      const counterAndNonce = Buffer.alloc(16)
      counterAndNonce.writeUInt32LE(1)
      return createDecipheriv(cipher.name, key.subarray(0, 32), counterAndNonce).update(section)
    }
  }
}

/** The section begins with one random number twice. */
function checks(section: Buffer): boolean {
  return section.length >= 8 && section.subarray(0, 4).equals(section.subarray(4, 8))
}

function armoured(publicBlob: Buffer, section: Buffer): string {
  const container = Buffer.concat([
    Buffer.from(MAGIC, 'latin1'),
    sshString('none'),
    sshString('none'),
    sshString(''),
    uint32(1),
    sshString(publicBlob),
    sshString(section),
  ])
  const lines = container.toString('base64').match(/.{1,70}/g) ?? []
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n')
}
