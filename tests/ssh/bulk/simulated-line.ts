/**
 * A line that exists only in numbers, with a clock of its own: so many bytes a millisecond, so far away, with a
 * queue in front of it. What is asked for is answered in order; small questions wait in the same queue.
 */
import type { FlowLine } from '../../../src/ssh/connection/flow.ts'

export interface LineShape {
  readonly roundTripMs: number
  /** As TCP begins: this many bytes in the first round trip, twice as many in each that follows. */
  readonly firstBytes?: number
  bytesPerMs: number
  /** What the server takes for each piece of bulk, one after another; it holds up nothing else. */
  readonly workMs?: number
  /** Other work on this computer makes every answer so much later, on average. */
  readonly disturbedMs?: number
}

interface Event {
  readonly at: number
  readonly act: () => void
}

export class SimulatedLine implements FlowLine {
  readonly shape: LineShape
  /** How long each small question took. */
  readonly answers: { readonly at: number; readonly ms: number }[] = []
  #now = 0
  #events: Event[] = []
  #freeAt = 0
  #serverFreeAt = 0
  #sent = 0
  #turns = 0

  constructor(shape: LineShape) {
    this.shape = shape
  }

  now(): number {
    return this.#now
  }

  roundTripMs(): number {
    return this.shape.roundTripMs
  }

  pause(ms: number): Promise<void> {
    return this.#after(this.#now + ms)
  }

  async ask(): Promise<number> {
    const began = this.#now
    await this.#after(began + this.shape.roundTripMs / 2)
    await this.#back(100)
    const ms = this.#now - began
    this.answers.push({ at: began, ms })
    return ms
  }

  /** The answer to a request for so many bytes. */
  async fetch(bytes: number): Promise<void> {
    const arrives = this.#now + this.shape.roundTripMs / 2
    this.#serverFreeAt = Math.max(arrives, this.#serverFreeAt) + (this.shape.workMs ?? 0)
    await this.#after(this.#serverFreeAt)
    await this.#back(bytes)
  }

  /** Let time go on until `done`. */
  async run(done: () => boolean): Promise<void> {
    for (;;) {
      // Everything that is ready now happens before the next event.
      await new Promise((resume) => setImmediate(resume))
      if (done()) return
      const next = this.#events.shift()
      if (next === undefined) throw new Error('nothing is under way any more')
      this.#now = next.at
      next.act()
    }
  }

  /** So many bytes are ready to be sent back: wait until the last of them has come. */
  #back(bytes: number): Promise<void> {
    const { roundTripMs, bytesPerMs, firstBytes = Infinity } = this.shape
    const soFar = (firstBytes + this.#sent) / Math.max(roundTripMs, 1)
    this.#sent += bytes
    this.#freeAt = Math.max(this.#now, this.#freeAt) + bytes / Math.min(bytesPerMs, soFar)
    return this.#after(this.#freeAt + roundTripMs / 2 + this.#disturbance())
  }

  /** Never the same, and the same in every run. */
  #disturbance(): number {
    this.#turns += 1
    return (this.shape.disturbedMs ?? 0) * 2 * ((this.#turns * 0.618_034) % 1)
  }

  #after(at: number): Promise<void> {
    return new Promise((resolve) => {
      const index = this.#events.findIndex((event) => event.at > at)
      this.#events.splice(index < 0 ? this.#events.length : index, 0, { at, act: resolve })
    })
  }
}
