/**
 * Whether a machine is still heard of. A line that has fallen silent is told of, and one that gives no sign of life
 * when it is asked for one is dead.
 */
import { Emitter } from '../../base/emitter.ts'
import { PROOF_MS } from '../channel/patience.ts'

/** How often we look whether it is silent. */
const LISTEN_MS = 1000

/** What is needed of the connection. */
export interface LifeNeeds {
  /** How long a live machine can be silent, in milliseconds; only keepalives make it speak when idle. */
  readonly longestSilenceMs: number
  readonly dead: AbortSignal
  /** Settles when the machine answers. @throws when it does not. */
  signOfLife(withinMs: number): Promise<void>
  /** Nothing came for so long, and there was no sign of life. */
  giveUp(silentMs: number): void
}

export class SignsOfLife {
  /** Since when the machine has not answered, although it was asked to: a date, or undefined once it has. */
  readonly silences = new Emitter<Date | undefined>()
  readonly #needs: LifeNeeds
  #lastByte = performance.now()
  #silent = false
  #proving: Promise<void> | undefined

  constructor(needs: LifeNeeds) {
    this.#needs = needs
    const timer = setInterval(() => {
      if (performance.now() - this.#lastByte > needs.longestSilenceMs && !this.#silent) this.#set(true)
    }, LISTEN_MS)
    timer.unref()
    needs.dead.addEventListener('abort', () => clearInterval(timer))
  }

  /** Something came. */
  heard(): void {
    this.#lastByte = performance.now()
    if (this.#silent) this.#set(false)
  }

  /**
   * A request had no answer for so long. When nothing else came either, the machine is asked for a sign of
   * life; without one the line is dead, not one channel. Settles when that is known; never rejects.
   */
  async suspect(silentMs: number): Promise<void> {
    if (performance.now() - this.#lastByte < silentMs) return
    this.#proving ??= this.#prove(silentMs).finally(() => (this.#proving = undefined))
    await this.#proving
  }

  #set(silent: boolean): void {
    this.#silent = silent
    if (this.#needs.dead.aborted) return
    const ago = performance.now() - this.#lastByte
    this.silences.emit(silent ? new Date(Date.now() - ago) : undefined)
  }

  async #prove(silentMs: number): Promise<void> {
    try {
      await this.#needs.signOfLife(Math.min(silentMs, PROOF_MS))
    } catch (_noSignOfLife) {
      this.#needs.giveUp(silentMs)
    }
  }
}
