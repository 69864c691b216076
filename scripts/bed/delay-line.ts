/**
 * One direction of a line: every packet is handed on a fixed time after it came, in order. It can also be
 * narrow and lossy. It owns the waiting; where packets come from and go to is its user's matter.
 */

export interface LineOptions {
  /** Milliseconds that every packet is under way. */
  readonly delayMs: number
  /** Bytes a second that fit through; no limit when absent. */
  readonly bytesPerSecond?: number
  /** Share of packets that never arrive, 0 to 1; none when absent. */
  readonly loss?: number
}

/** Timers of Node fire up to a millisecond late; the rest of a wait is spent looking at the clock. */
const TIMER_SLACK_MS = 1.2

/** With so many packets under way the line carries bulk, where a late millisecond costs less than the CPU. */
const BULK = 64

/** As a router: what waits longer than this for a narrow line is dropped. */
const LONGEST_QUEUE_MS = 500

interface Waiting {
  readonly due: number
  readonly packet: Uint8Array
}

export class DelayLine {
  readonly #options: LineOptions
  readonly #deliver: (packet: Uint8Array) => void
  #waiting: Waiting[] = []
  /** Those before it have been delivered. */
  #first = 0
  /** When the narrow place is free again. */
  #freeAt = 0
  #armed = false

  constructor(options: LineOptions, deliver: (packet: Uint8Array) => void) {
    this.#options = options
    this.#deliver = deliver
  }

  push(packet: Uint8Array): void {
    const { delayMs, bytesPerSecond, loss = 0 } = this.#options
    if (loss > 0 && Math.random() < loss) return
    const now = performance.now()
    let through = now
    if (bytesPerSecond !== undefined) {
      through = Math.max(now, this.#freeAt) + (packet.length / bytesPerSecond) * 1000
      if (through - now > LONGEST_QUEUE_MS) return
      this.#freeAt = through
    }
    this.#waiting.push({ due: through + delayMs, packet })
    this.#arm()
  }

  get #length(): number {
    return this.#waiting.length - this.#first
  }

  #arm(): void {
    const next = this.#waiting[this.#first]
    if (this.#armed || next === undefined) return
    this.#armed = true
    const wait = next.due - performance.now()
    if (wait > TIMER_SLACK_MS) setTimeout(() => this.#flush(), Math.floor(wait - 0.2))
    else if (this.#length < BULK) setImmediate(() => this.#flush())
    else setTimeout(() => this.#flush(), 1)
  }

  #flush(): void {
    this.#armed = false
    const now = performance.now()
    for (;;) {
      const next = this.#waiting[this.#first]
      if (next === undefined || next.due > now) break
      this.#first += 1
      this.#deliver(next.packet)
    }
    if (this.#first > BULK && this.#first * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#first)
      this.#first = 0
    }
    this.#arm()
  }
}
