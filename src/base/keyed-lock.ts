/** First-come-first-served exclusion per key. A key with nobody waiting costs nothing. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>()

  async run<T>(key: string, operation: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const result = before.then(operation)
    const tail = result.then(
      () => undefined,
      (_toldToTheCaller: unknown) => undefined,
    )
    this.#tails.set(key, tail)
    try {
      return await result
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }

  /** Keys that are held or waited for now. */
  get size(): number {
    return this.#tails.size
  }
}
