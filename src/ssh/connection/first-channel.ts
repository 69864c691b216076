/**
 * Why the first channel of a connection takes 40 ms on a fast line, and what to do about it. Until it knows
 * of a session, OpenSSH's server has Nagle's algorithm on: its confirmation of the first channel waits until
 * what it sent before is acknowledged, and our kernel delays that for want of data to send along. So we send
 * some: each piece that comes while the first channel is being opened is answered with a small request.
 */
import type { Client } from 'ssh2'
import { askForNothing } from './small-request.ts'

/** More than this is not worth it. */
const MOST_NUDGES = 4

export class FirstChannel {
  readonly #client: Client
  #state: 'none' | 'opening' | 'done'
  #nudges = 0

  /** @param ident - other servers do not wait, or mind requests they do not know. */
  constructor(client: Client, ident: string) {
    this.#client = client
    this.#state = ident.includes('OpenSSH') ? 'none' : 'done'
  }

  /** To be told of each channel that is asked for. */
  asked(opening: Promise<unknown>): void {
    if (this.#state !== 'none') return
    this.#state = 'opening'
    const done = (): void => void (this.#state = 'done')
    opening.then(done, done)
  }

  /** To be told when something came from the server. */
  heard(): void {
    if (this.#state !== 'opening' || this.#nudges >= MOST_NUDGES) return
    this.#nudges += 1
    try {
      askForNothing(this.#client, () => undefined)
    } catch (_theConnectionHasEnded) {
      // What came was the server's farewell, or came behind our own.
      this.#state = 'done'
    }
  }
}
