/**
 * The slow half of opening an encrypted key, in a thread of its own: OpenSSH's key derivation takes a
 * second on purpose, and everything else in the process would stand still for it.
 */
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import type { Derivation } from './derive-key.ts'

type Pbkdf = (
  passphrase: Uint8Array,
  passphraseLength: number,
  salt: Uint8Array,
  saltLength: number,
  key: Uint8Array,
  keyLength: number,
  rounds: number,
) => number

// A dependency of the SSH library's, found from where that one finds it.
const library = createRequire(createRequire(import.meta.url).resolve('ssh2'))
const { pbkdf } = library('bcrypt-pbkdf') as { readonly pbkdf: Pbkdf }

const { passphrase, salt, rounds, length } = workerData as Derivation
const key = new Uint8Array(length)
const secret = Buffer.from(passphrase)
const failed = pbkdf(secret, secret.length, salt, salt.length, key, length, rounds) !== 0
parentPort?.postMessage(failed ? undefined : key)
