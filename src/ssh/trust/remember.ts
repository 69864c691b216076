/**
 * Writes a host's key down in a known_hosts file. Only ever adds: no other line is read for its meaning,
 * changed or lost.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf, PresenceError } from '../../base/failure.ts'
import { keyType } from './fingerprint.ts'
import { HASH_MAGIC, hashName, lookupName, type KeyTarget } from './known-hosts.ts'

/** The key could not be written down. */
export class RememberKeyError extends PresenceError {
  constructor(message: string, target: KeyTarget, cause?: unknown) {
    super(message, 'refused', { machine: target.alias ?? target.host, cause })
  }
}

export interface RememberOptions {
  /** Created with mode 0600, its folder with 0700, where it is missing. */
  readonly file: string
  /** Write the name as its hash (HashKnownHosts). */
  readonly hashed: boolean
}

/**
 * Append one line in one write, so that other writers' lines stay whole beside it.
 * @throws RememberKeyError when the file cannot be written, or the name would mean something else in it;
 *   MalformedKeyError.
 */
export async function rememberKey(
  blob: Uint8Array,
  target: KeyTarget,
  { file, hashed }: RememberOptions,
): Promise<void> {
  const key = `${keyType(blob)} ${Buffer.from(blob).toString('base64')}`
  const entry = `${hashed ? hashedName(nameOf(target)) : nameOf(target)} ${key}\n`
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const handle = await open(file, 'a+', 0o600)
    try {
      const line = Buffer.from((await endsInsideLine(handle)) ? `\n${entry}` : entry)
      const { bytesWritten } = await handle.write(line)
      if (bytesWritten < line.length) throw new Error('the line was not written whole')
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw new RememberKeyError(`the key cannot be added to ${file}: ${messageOf(error)}`, target, error)
  }
}

function nameOf(target: KeyTarget): string {
  const name = lookupName(target)
  // Brackets around a host with a port are the format's own; anywhere else they, patterns, lists, markers
  // and white space would make it another entry.
  if (name === '' || /[@?*#|'"\\,!\s\p{Cc}]/u.test(name) || /[[\]]/.test(target.alias ?? target.host)) {
    throw new RememberKeyError(`${JSON.stringify(name)} cannot be written into a known_hosts file`, target)
  }
  return name
}

function hashedName(name: string): string {
  const salt = randomBytes(20)
  return `${HASH_MAGIC}${salt.toString('base64')}|${hashName(name, salt)}`
}

async function endsInsideLine(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat()
  if (size === 0) return false
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return bytesRead === 1 && buffer[0] !== 0x0a
}
