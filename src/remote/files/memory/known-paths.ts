/**
 * Where paths were found to lead, for a while. It spares asking again what a path means; what lies there is
 * never answered from here, and who changes a file verifies that its path still leads there.
 */
import type { RemotePath } from '../../../base/remote-path.ts'

const MOST = 4096

interface Known {
  readonly canonical: RemotePath
  readonly at: number
}

export class KnownPaths {
  readonly #known = new Map<RemotePath, Known>()

  remember(path: RemotePath, canonical: RemotePath): void {
    this.#known.delete(path)
    this.#known.set(path, { canonical, at: performance.now() })
    if (this.#known.size <= MOST) return
    const oldest = this.#known.keys().next()
    if (oldest.done !== true) this.#known.delete(oldest.value)
  }

  /** @param maxAgeMs - an older answer does not count. */
  get(path: RemotePath, maxAgeMs: number): RemotePath | undefined {
    const known = this.#known.get(path)
    return known !== undefined && performance.now() - known.at <= maxAgeMs ? known.canonical : undefined
  }

  forget(): void {
    this.#known.clear()
  }
}
