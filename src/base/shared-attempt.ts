/**
 * One attempt at a time, shared by everyone who asks for its result. Each caller may leave alone; the
 * attempt itself is abandoned only when the last caller has left.
 */
import { callerLeaves, race } from './race.ts'

interface Running<T> {
  readonly promise: Promise<T>
  readonly abandon: AbortController
  waiting: number
}

export class SharedAttempt<T> {
  #running: Running<T> | undefined
  readonly #begin: (signal: AbortSignal) => Promise<T>
  readonly #what: string

  /** `what` names the attempt in the error of a caller who leaves. */
  constructor(what: string, begin: (signal: AbortSignal) => Promise<T>) {
    this.#what = what
    this.#begin = begin
  }

  get running(): boolean {
    return this.#running !== undefined
  }

  /** Join the running attempt or begin one. */
  async join(signal?: AbortSignal): Promise<T> {
    const running = (this.#running ??= this.#start())
    running.waiting += 1
    try {
      return await race(() => running.promise, callerLeaves(signal, this.#what))
    } finally {
      running.waiting -= 1
      if (running.waiting === 0 && this.#running === running) {
        this.#running = undefined
        running.abandon.abort()
      }
    }
  }

  /** End the running attempt for everyone. */
  cancel(reason: Error): void {
    this.#running?.abandon.abort(reason)
  }

  #start(): Running<T> {
    const abandon = new AbortController()
    const attempt = async (): Promise<T> => this.#begin(abandon.signal)
    const promise = attempt().finally(() => {
      if (this.#running?.abandon === abandon) this.#running = undefined
    })
    // Callers may all have left before it fails; nobody is then there to hear of it.
    promise.catch((_unheardFailure: unknown) => undefined)
    return { promise, abandon, waiting: 0 }
  }
}
