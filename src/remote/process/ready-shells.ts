/**
 * Shells that wait on the machine for a command to run. Opening a channel costs two round trips and the
 * account's shell start-up files; a shell that waits has both behind it, so a command costs one round trip. Each
 * runs one command and is used up: output, exit and end of a command are those of a channel of its own.
 *
 * What is run in them is not known here.
 */
import { callerLeaves, race } from '../../base/race.ts'
import type { ExecChannel } from '../../ssh/channel/exec.ts'
import type { ExecOptions } from '../../ssh/connection/link.ts'

/** A second one is being opened while the first is used; more would only wait. */
const WAITING = 2

/** A shell that waits for its command, for one caller alone. */
export interface TakenShell {
  readonly channel: ExecChannel
  /** It waited before it was wanted: its machine may have ended it without our knowing yet. */
  readonly waited: boolean
}

interface ReadyShell {
  readonly channel: ExecChannel
  /** It has given its place to something else: it is being closed, though its end is not here yet. */
  readonly hasYielded: boolean
  /** From now on it works: it keeps its place and its connection. */
  wake(): void
}

export class ReadyShells {
  readonly #open: (options: ExecOptions) => Promise<ExecChannel>
  readonly #spares: boolean
  /** Those that wait, and those that are being opened; undefined is what came of one that could not be. */
  readonly #waiting: Promise<ReadyShell | undefined>[] = []

  /**
   * @param open - starts a shell that waits for its command.
   * @param spares - whether some may be opened before they are needed.
   */
  constructor(open: (options: ExecOptions) => Promise<ExecChannel>, spares: boolean) {
    this.#open = open
    this.#spares = spares
  }

  /**
   * @param fresh - none that has waited.
   * @throws ChannelError; LinkLostError, whose outcome is known: nothing was run; CancelledError.
   */
  async take(signal: AbortSignal | undefined, fresh = false): Promise<TakenShell> {
    while (!fresh) {
      const claimed = this.#waiting.shift()
      if (claimed === undefined) break
      const shell = await race(() => claimed, callerLeaves(signal, 'a command')).catch((error: unknown) => {
        this.#waiting.unshift(claimed)
        throw error
      })
      if (shell === undefined || shell.hasYielded) continue
      shell.wake()
      this.prepare()
      return { channel: shell.channel, waited: true }
    }
    const opening = this.#open({ signal })
    this.prepare()
    return { channel: await opening, waited: false }
  }

  /** Have some waiting, as far as there is room for them. */
  prepare(): void {
    while (this.#spares && this.#waiting.length < WAITING) {
      const coming = this.#spare()
      this.#waiting.push(coming)
      void coming.then((shell) => {
        const forget = (): void => {
          const at = this.#waiting.indexOf(coming)
          if (at >= 0) void this.#waiting.splice(at, 1)
        }
        if (shell === undefined) forget()
        else void shell.channel.closed.then(forget)
      })
    }
  }

  async #spare(): Promise<ReadyShell | undefined> {
    const woken = new AbortController()
    let channel: ExecChannel | undefined
    let hasYielded = false
    const yields = (): void => {
      if (woken.signal.aborted) return
      hasYielded = true
      channel?.close()
    }
    const options = { lasting: true, modest: true, idles: true, wakes: woken.signal, yields }
    try {
      channel = await this.#open(options)
    } catch (_whoeverNeedsOneHearsOfIt: unknown) {
      return undefined
    }
    return {
      channel,
      get hasYielded() {
        return hasYielded
      },
      wake: () => woken.abort(),
    }
  }
}
