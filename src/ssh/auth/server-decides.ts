/**
 * The time in which a server judges what a person has typed. It may ask a person itself before it answers,
 * by a push to a phone, so the attempt's clock stands still for it; but not for ever.
 */
export type StandStill = <T>(work: () => Promise<T>) => Promise<T>

/** sshd_config(5), LoginGraceTime: no server waits longer by itself. */
const LONGEST_MS = 120_000

export class ServerDecides {
  readonly #standStill: StandStill
  #over: (() => void) | undefined

  constructor(standStill: StandStill) {
    this.#standStill = standStill
  }

  begin(): void {
    this.end()
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => resolve(undefined), LONGEST_MS)
    this.#over = () => {
      clearTimeout(timer)
      resolve(undefined)
    }
    void this.#standStill(() => promise)
  }

  /** The server has answered, or the connection is gone. */
  end(): void {
    this.#over?.()
    this.#over = undefined
  }
}
