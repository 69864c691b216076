/**
 * How many command channels may be open at once on one connection, and whether one for bulk may be beside
 * them. sshd frees a session slot later
 * than we see its channel close, so a full server refuses now and then: a refused open was never
 * started on the machine and is tried again, and the real limit is learnt from the refusals.
 */
import { diesWith, pause } from '../../base/race.ts'
import { ChannelError } from '../errors.ts'

/** sshd's default MaxSessions is 10; two are for SFTP and two stay free for its late freeing. */
export const DEFAULT_COMMAND_CHANNELS = 6
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 250
/** sshd has freed the slot of a closed channel by then. */
const LATE_FREEING_MS = 300
/** A server that refuses for so long, with nothing of ours open, gives this account no channel at all. */
const NEVER_MS = 5000

/** The caller left the queue to be served elsewhere; nothing was started here. */
export class QueueLeft extends Error {}

/** Thrown by an opener when the server refused the channel without starting anything. */
export class ChannelRefused extends Error {}

export class ChannelSlots {
  readonly #machine: string
  readonly #most: number
  /** Once learnt from refusals, the one beside counts too. */
  #limit: number
  /** The channel beside the commands, which gives its place up when it can. */
  #beside: { readonly yields: () => boolean } | undefined
  /** Slots taken: channels that are open, and those that are being opened. */
  #open = 0
  /** Channels that are open. */
  #established = 0
  /** Since when the server refuses while no channel opens or closes. */
  #refusingSince: number | undefined
  readonly #waiting: (() => void)[] = []

  constructor(machine: string, limit = DEFAULT_COMMAND_CHANNELS) {
    this.#machine = machine
    this.#most = limit
    this.#limit = limit
  }

  /** How many command channels there may be now. */
  get limit(): number {
    const isLearnt = this.#limit < this.#most
    return isLearnt && this.#beside !== undefined ? this.#limit - 1 : this.#limit
  }

  get open(): number {
    return this.#open
  }

  /** False also when not even one channel can be had here, as far as we know. */
  get hasRoom(): boolean {
    return this.#open < this.limit
  }

  /**
   * A place beside the commands, for one channel that they can do without; at least one place is left to them.
   * @param yields - called when a command is refused; closes the channel if it can. @returns whether it did.
   * @returns gives the place back, undefined when there is none.
   */
  takeBeside(yields: () => boolean): (() => void) | undefined {
    const isLearnt = this.#limit < this.#most
    if (this.#beside !== undefined || this.#waiting.length > 0) return undefined
    if (isLearnt && this.#open + 1 >= this.#limit) return undefined
    const beside = { yields }
    this.#beside = beside
    return () => {
      if (this.#beside !== beside) return
      this.#beside = undefined
      this.#admit()
    }
  }

  /**
   * Wait for a slot and open a channel in it, again and again while the server refuses.
   * @param opener - resolves with the channel; throws `ChannelRefused` when the server had no room.
   * @param giveUp - aborted when the caller no longer wants the channel; its reason is thrown.
   * @param leaveQueue - aborted when the caller can be served elsewhere; ignored while a channel opens.
   * @returns the channel and the release of its slot, to be called once.
   * @throws ChannelError `refused` when the server never has room; QueueLeft.
   */
  async acquire<T>(
    opener: () => Promise<T>,
    giveUp: AbortSignal,
    leaveQueue: AbortSignal | undefined,
  ): Promise<{ channel: T; release: () => void }> {
    await this.#enter(giveUp, leaveQueue)
    let opened = false
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const channel = await opener()
          opened = true
          this.#changeEstablished(1)
          return { channel, release: this.#releaseOnce() }
        } catch (error) {
          if (!(error instanceof ChannelRefused)) throw error
          if (this.#beside?.yields() === true) this.#refusingSince = undefined
          this.#refusingSince ??= performance.now()
          const refusedMs = performance.now() - this.#refusingSince
          // It stays full although what we closed must be free by now: its limit is lower than we thought.
          if (refusedMs > LATE_FREEING_MS) this.#learn()
          if (this.#established === 0 && this.#beside === undefined && refusedMs > NEVER_MS) {
            throw new ChannelError('its SSH server allows no command channel for this account', 'refused', {
              machine: this.#machine,
              cause: error,
            })
          }
          if (leaveQueue?.aborted === true) throw new QueueLeft()
          await pause(Math.min(FIRST_PAUSE_MS * attempt, LONGEST_PAUSE_MS), [diesWith(giveUp)])
        }
      }
    } finally {
      if (!opened) this.#leave()
    }
  }

  async #enter(giveUp: AbortSignal, leaveQueue: AbortSignal | undefined): Promise<void> {
    giveUp.throwIfAborted()
    if (this.#hasTurn) {
      this.#open += 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const settle = (act: () => void): void => {
        giveUp.removeEventListener('abort', leave)
        leaveQueue?.removeEventListener('abort', goElsewhere)
        act()
      }
      const proceed = (): void => settle(resolve)
      const depart = (error: Error): void => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1)
        settle(() => reject(error))
      }
      const leave = (): void => depart(giveUp.reason as Error)
      const goElsewhere = (): void => depart(new QueueLeft())
      this.#waiting.push(proceed)
      giveUp.addEventListener('abort', leave)
      leaveQueue?.addEventListener('abort', goElsewhere)
    })
  }

  #changeEstablished(by: 1 | -1): void {
    this.#established += by
    this.#refusingSince = undefined
  }

  #releaseOnce(): () => void {
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#changeEstablished(-1)
      this.#leave()
    }
  }

  #leave(): void {
    this.#open -= 1
    this.#admit()
  }

  /** One is always tried: a server may have become more generous. */
  get #hasTurn(): boolean {
    return this.#open < Math.max(1, this.limit)
  }

  #admit(): void {
    while (this.#hasTurn) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#open += 1
      next()
    }
  }

  #learn(): void {
    const there = this.#established + (this.#beside === undefined ? 0 : 1)
    this.#limit = Math.min(this.#limit, there)
  }
}
