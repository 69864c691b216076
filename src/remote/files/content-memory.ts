/**
 * Remembers which content was read under which version token, for machines whose tokens cannot tell two
 * writes of one second apart. A guard that finds the token unchanged then compares the content too.
 */
import { createHash } from 'node:crypto'

/** Enough for every file a few sessions have open; a forgotten one falls back to its token. */
const REMEMBERED = 4096

export class ContentMemory {
  readonly #hashes = new Map<string, string>()

  /** Whether a guard on this token needs the content: exact tokens speak for themselves. */
  covers(version: string): boolean {
    return !version.startsWith('x')
  }

  /** `key` is the file's identity, `version` the token under which `content` was read. */
  remember(key: string, version: string, content: Uint8Array): void {
    if (!this.covers(version)) return
    const entry = `${key}\0${version}`
    this.#hashes.delete(entry)
    this.#hashes.set(entry, hashOf(content))
    if (this.#hashes.size > REMEMBERED) {
      const oldest = this.#hashes.keys().next()
      if (oldest.done !== true) this.#hashes.delete(oldest.value)
    }
  }

  /** False when the content seen under this token is known to be another. */
  agrees(key: string, version: string, content: Uint8Array): boolean {
    const seen = this.#hashes.get(`${key}\0${version}`)
    return seen === undefined || seen === hashOf(content)
  }
}

function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('base64')
}
