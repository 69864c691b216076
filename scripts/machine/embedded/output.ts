/**
 * Writes to the two output streams of a server channel, one piece at a time and only as fast as the
 * client reads. Ends quietly when the client has closed the channel.
 */
import type { Readable, Writable } from 'node:stream'
import type { ServerChannel } from 'ssh2'

/**
 * What ssh2 remembers of a write that waited for the client's window. It keeps that piece after it was
 * sent, and sends it again when a write to the other stream has to wait; so it is taken away here.
 */
interface WaitingWrite {
  _chunk?: unknown
  _chunkcb?: unknown
  _chunkErr?: unknown
  _chunkcbErr?: unknown
}

export class ChannelOutput {
  readonly #channel: ServerChannel
  readonly #closed: Promise<void>
  #last: Promise<void> = Promise.resolve()
  #open = true

  constructor(channel: ServerChannel) {
    this.#channel = channel
    this.#closed = new Promise((resolve) => {
      channel.on('close', () => {
        this.#open = false
        resolve()
      })
    })
  }

  /** Send everything a stream has. Resolves at its end, or when the client has left. */
  async pump(name: 'stdout' | 'stderr', source: Readable): Promise<void> {
    try {
      for await (const chunk of source) await this.send(name, chunk as Buffer)
    } catch (failure) {
      // Destroying the source is how the client's leaving reaches a command; anything else is news.
      if (this.#open && !source.destroyed) throw failure
    }
  }

  /** Resolves when the piece is on its way (not when it has arrived). */
  send(name: 'stdout' | 'stderr', piece: Buffer): Promise<void> {
    const sent = this.#last.then(() => this.#sendNow(name, piece))
    this.#last = sent
    return sent
  }

  async #sendNow(name: 'stdout' | 'stderr', piece: Buffer): Promise<void> {
    if (!this.#open) return
    const stream: Writable = name === 'stdout' ? this.#channel : (this.#channel.stderr as Writable)
    const written = new Promise<void>((resolve) => stream.write(piece, () => resolve()))
    await Promise.race([written, this.#closed])
    const remembered = this.#channel as WaitingWrite
    delete remembered._chunk
    delete remembered._chunkcb
    delete remembered._chunkErr
    delete remembered._chunkcbErr
  }
}
