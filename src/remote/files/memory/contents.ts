/**
 * Contents of files by their versions. A file with the same exact token (`isExact`) has the same content, so an
 * edit or a comparison need not fetch again what was read before. Any other token only makes it likely.
 */
import type { RemotePath } from '../../../base/remote-path.ts'
import type { FileStat } from '../stat.ts'
import { isExact } from '../versions.ts'

/** Bytes kept for one machine. */
const MOST_BYTES = 16 * 1024 * 1024
/** A larger content is not kept. */
export const LARGEST_BYTES = 1024 * 1024

/** A file as it was at one moment. */
export interface FileState {
  readonly stat: FileStat
  readonly content: Buffer
}

export class Contents {
  readonly #kept = new Map<RemotePath, FileState>()
  #bytes = 0

  keep(path: RemotePath, stat: FileStat, content: Buffer): void {
    this.#drop(path)
    if (content.length > LARGEST_BYTES) return
    this.#kept.set(path, { stat, content })
    this.#bytes += content.length
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MOST_BYTES) return
      this.#drop(oldest)
    }
  }

  /** What a file with this version holds; undefined when that is not known for sure. */
  get(path: RemotePath, version: string): FileState | undefined {
    return isExact(version) ? this.last(path, version) : undefined
  }

  /** What it held when it was seen under this version: another content may have the same one. */
  last(path: RemotePath, version: string): FileState | undefined {
    const kept = this.#kept.get(path)
    if (kept?.stat.version !== version) return undefined
    this.#kept.delete(path)
    this.#kept.set(path, kept)
    return kept
  }

  forget(): void {
    this.#kept.clear()
    this.#bytes = 0
  }

  #drop(path: RemotePath): void {
    this.#bytes -= this.#kept.get(path)?.content.length ?? 0
    this.#kept.delete(path)
  }
}
