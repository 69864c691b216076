/** A list of listeners for one kind of news. A listener that throws never stops the others. */
export class Emitter<T> {
  readonly #listeners = new Set<(news: T) => void>()

  /** @returns the undo of this subscription. */
  on(listener: (news: T) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  emit(news: T): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(news)
      } catch (observerFailure) {
        queueMicrotask(() => process.emitWarning(observerFailure as Error))
      }
    }
  }
}
