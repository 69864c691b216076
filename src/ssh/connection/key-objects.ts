/**
 * Gives ssh2 its AES-GCM keys as key objects. It makes a cipher for every packet, and Node looks at a key that is
 * plain bytes anew each time: 12 µs for each packet (Node 24.21), a fifth of the processor time of a transfer. The
 * only file that knows where ssh2 keeps its keys; it looks before it touches, and what looks otherwise stays.
 */
import { createSecretKey } from 'node:crypto'

/** Which fields of ssh2's ciphers say what they are, and hold the key. */
const PLACES = [
  { side: '_cipher', name: '_encSSLName', key: '_encKey' },
  { side: '_decipher', name: '_decipherSSLName', key: '_decipherKey' },
] as const

/** To be called after each key exchange. @returns how many keys were changed. */
export function useKeyObjects(client: object): number {
  const protocol = fieldOf(client, '_protocol')
  return PLACES.filter(({ side, name, key }) => {
    const cipher = fieldOf(protocol, side)
    const [algorithm, bytes] = [fieldOf(cipher, name), fieldOf(cipher, key)]
    if (typeof algorithm !== 'string' || !algorithm.endsWith('-gcm') || !Buffer.isBuffer(bytes)) return false
    return Reflect.set(cipher as object, key, createSecretKey(bytes))
  }).length
}

function fieldOf(holder: unknown, name: string): unknown {
  return typeof holder === 'object' && holder !== null
    ? (holder as Readonly<Record<string, unknown>>)[name]
    : undefined
}
