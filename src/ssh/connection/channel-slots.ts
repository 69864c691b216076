/**
 * How many command channels may be open at once on one connection. sshd frees a session slot later
 * than we see its channel close, so a full server refuses now and then: a refused open was never
 * started on the machine and is tried again, and the real limit is learnt from the refusals.
 */
import { diesWith, pause } from '../../base/race.ts'

/** sshd's default MaxSessions is 10; two are for SFTP and two stay free for its late freeing. */
export const DEFAULT_COMMAND_CHANNELS = 6
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 250

/** Thrown by an opener when the server refused the channel without starting anything. */
export class ChannelRefused extends Error {}

export class ChannelSlots {
  #limit: number
  #open = 0
  readonly #waiting: (() => void)[] = []

  constructor(limit = DEFAULT_COMMAND_CHANNELS) {
    this.#limit = limit
  }

  get limit(): number {
    return this.#limit
  }

  get open(): number {
    return this.#open
  }

  /**
   * Wait for a slot and open a channel in it, again and again while the server refuses.
   * @param opener - resolves with the channel; throws `ChannelRefused` when the server had no room.
   * @param giveUp - aborted when the caller no longer wants the channel; its reason is thrown.
   * @returns the channel and the release of its slot, to be called once.
   */
  async acquire<T>(
    opener: () => Promise<T>,
    giveUp: AbortSignal,
  ): Promise<{ channel: T; release: () => void }> {
    await this.#enter(giveUp)
    let opened = false
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const channel = await opener()
          opened = true
          return { channel, release: this.#releaseOnce() }
        } catch (error) {
          if (!(error instanceof ChannelRefused)) throw error
          // Others are open and still it is full: the server's limit is lower than we thought.
          if (attempt > 3 && this.#open > 1) this.#limit = Math.max(1, this.#open - 1)
          await pause(Math.min(FIRST_PAUSE_MS * attempt, LONGEST_PAUSE_MS), [diesWith(giveUp)])
        }
      }
    } finally {
      if (!opened) this.#leave()
    }
  }

  async #enter(giveUp: AbortSignal): Promise<void> {
    giveUp.throwIfAborted()
    if (this.#open < this.#limit) {
      this.#open += 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const proceed = (): void => {
        giveUp.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1)
        reject(giveUp.reason as Error)
      }
      this.#waiting.push(proceed)
      giveUp.addEventListener('abort', leave, { once: true })
    })
  }

  #releaseOnce(): () => void {
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#leave()
    }
  }

  #leave(): void {
    const next = this.#open <= this.#limit ? this.#waiting.shift() : undefined
    if (next === undefined) this.#open -= 1
    else next()
  }
}
