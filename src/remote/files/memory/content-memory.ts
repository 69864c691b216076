/**
 * Remembers which content was read under which version token, for machines whose tokens cannot tell two
 * writes of one second apart. A guard that finds the token unchanged then compares the content too.
 */
import { createHash } from 'node:crypto'
import { isExact } from '../versions.ts'

/** Enough for every file a few sessions have open; a forgotten one falls back to its token. */
const REMEMBERED = 4096

export class ContentMemory {
  readonly #hashes = new Map<string, string>()

  /** Whether a guard on this token of this file needs the content: exact tokens speak for themselves. */
  covers(key: string, version: string): boolean {
    return this.#hashes.has(`${key}\0${version}`)
  }

  /**
   * @param key - the file's identity. @param version - the token under which the content was read.
   * @param pieces - the content; not asked for when nothing needs to be remembered.
   */
  remember(key: string, version: string, pieces: Iterable<Uint8Array>): void {
    const memory = this.watch(key, version)
    if (memory === undefined) return
    for (const piece of pieces) memory.piece(piece)
    memory.done()
  }

  /**
   * For content that comes in pieces: give it each, and call `done` behind the last.
   * @returns undefined when nothing needs to be remembered.
   */
  watch(key: string, version: string): { piece(bytes: Uint8Array): void; done(): void } | undefined {
    if (isExact(version)) return undefined
    const hash = createHash('sha256')
    return {
      piece: (bytes) => void hash.update(bytes),
      done: () => this.#keep(key, version, hash.digest('base64')),
    }
  }

  /** False when the content seen under this token is known to be another. */
  agrees(key: string, version: string, content: Uint8Array): boolean {
    const seen = this.#hashes.get(`${key}\0${version}`)
    return seen === undefined || seen === hashOf(content)
  }

  #keep(key: string, version: string, hash: string): void {
    const entry = `${key}\0${version}`
    this.#hashes.delete(entry)
    this.#hashes.set(entry, hash)
    if (this.#hashes.size <= REMEMBERED) return
    const oldest = this.#hashes.keys().next()
    if (oldest.done !== true) this.#hashes.delete(oldest.value)
  }
}

function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('base64')
}
