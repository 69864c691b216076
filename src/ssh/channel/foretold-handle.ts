/**
 * Which handle a server will give to the next file that is opened on a channel, so that a reader need not wait for
 * it. Some servers, OpenSSH's among them, give again what was closed last. It is believed of a server that has
 * been seen to do so, and only as long as it does; whoever uses it compares. See docs/decisions/foretold-handles.md.
 */

/** Closed handles that are remembered: nobody closes so many without opening one. */
const MOST = 64

/** One open that is on its way. */
export interface Opening {
  /** What will be opened, if that is foretold. */
  readonly foretold: Buffer | undefined
  /** To be called once, with the server's answer; undefined: nothing was opened. */
  answered(handle: Buffer | undefined): void
}

/** To be told of every open and close of a channel, in the order in which they are sent. */
export class ForetoldHandles {
  /** Closed and not given again, as far as was seen; the one that was closed last is the last. */
  #closed: Buffer[] = []
  /** Opens without an answer. */
  #underWay = 0
  /** Whether this server gives again what was closed last; undefined as long as it had no occasion. */
  #isSo: boolean | undefined

  /** @param guesses - whether anything may be foretold on this channel. */
  constructor(guesses: boolean) {
    if (!guesses) this.#isSo = false
  }

  /** A file or folder is about to be opened. */
  opening(): Opening {
    // Behind an open that has no answer yet, it depends on that answer which one is next.
    const next = this.#underWay === 0 ? this.#closed.at(-1) : undefined
    this.#underWay += 1
    return {
      foretold: this.#isSo === true ? next : undefined,
      answered: (handle) => {
        this.#underWay -= 1
        if (handle !== undefined) this.#given(handle, next)
      },
    }
  }

  /** A handle is about to be closed. */
  closing(handle: Buffer): void {
    if (this.#isSo === false) return
    this.#closed.push(handle)
    if (this.#closed.length > MOST) this.#closed.shift()
  }

  #given(handle: Buffer, next: Buffer | undefined): void {
    // One that did otherwise once is not asked for a second chance.
    if (next !== undefined) this.#isSo = this.#isSo !== false && next.equals(handle)
    this.#closed = this.#isSo === false ? [] : this.#closed.filter((one) => !one.equals(handle))
  }
}
