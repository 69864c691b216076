/**
 * PuTTY's key files. `ssh` reads none of them; the SSH library reads RSA and DSA keys of version 2. The
 * others are named, with the way to convert them. The public half stands in all of them in the clear.
 */
import { PresenceError } from '../../base/failure.ts'
import { publicKeyOf, type PublicKey } from './public-key.ts'

export interface PuttyKey {
  readonly encrypted: boolean
  readonly publicKey: PublicKey | undefined
  /** Why it cannot be used, and what to do; undefined when it can. */
  readonly reason: string | undefined
}

const HEADER = /^PuTTY-User-Key-File-(\d+): (\S+)\r?\nEncryption: (\S+)/

/** @returns undefined when the text is no such file. */
export function judgePuttyKey(text: string): PuttyKey | undefined {
  const [, version, type, cipher] = HEADER.exec(text) ?? []
  if (version === undefined || type === undefined) return undefined
  const readable = version === '2' && (type === 'ssh-rsa' || type === 'ssh-dss')
  return {
    encrypted: cipher !== 'none',
    publicKey: publicHalf(text),
    reason: readable
      ? undefined
      : `it is a PuTTY key (version ${version}, ${type}), which cannot be read here: convert it with ` +
        '"puttygen KEY.ppk -O private-openssh -o KEY" (PuTTYgen: Conversions, Export OpenSSH key), or load it into Pageant',
  }
}

function publicHalf(text: string): PublicKey | undefined {
  const [, count, following] = /^Public-Lines: (\d+)\r?\n([\s\S]+)/m.exec(text) ?? []
  const lines = following?.split(/\r?\n/, Number(count)).join('')
  if (lines === undefined) return undefined
  try {
    return publicKeyOf(Buffer.from(lines, 'base64'), '')
  } catch (error) {
    // Its private half is judged all the same.
    if (error instanceof PresenceError) return undefined
    throw error
  }
}
