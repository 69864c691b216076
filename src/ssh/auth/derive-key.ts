/** Keys from passphrases as OpenSSH derives them (bcrypt_pbkdf), without holding the process up. */
import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

export interface Derivation {
  readonly passphrase: string
  readonly salt: Uint8Array
  readonly rounds: number
  /** Bytes of key wanted. */
  readonly length: number
}

// The same file is TypeScript in the checkout and JavaScript in the package.
const WORKER = new URL(`./derive-worker${extname(new URL(import.meta.url).pathname)}`, import.meta.url)

/** @throws when the parameters are none that the algorithm allows. */
export async function deriveKey(derivation: Derivation): Promise<Buffer> {
  const worker = new Worker(WORKER, { workerData: derivation })
  try {
    const [key] = (await once(worker, 'message')) as [Uint8Array | undefined]
    if (key === undefined) throw new Error('its key derivation has parameters that are not allowed')
    return Buffer.from(key)
  } finally {
    await worker.terminate()
  }
}
