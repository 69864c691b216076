/**
 * Asking one connection for channels: what is asked for, what may come instead, and which error that is.
 * Whether there is room for one more, and what happens on it, is decided elsewhere.
 */
import type { Duplex } from 'node:stream'
import type { Client, ClientCallback } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import { diesWith, race, type WayOut } from '../../base/race.ts'
import { ExecChannel, type Owner, type TerminalSize } from '../channel/exec.ts'
import { patience } from '../channel/patience.ts'
import { askedOn, ChannelClosed } from '../channel/refused-request.ts'
import { ChannelError, LinkLostError } from '../errors.ts'
import { ChannelRefused } from './channel-slots.ts'
import { FirstChannel } from './first-channel.ts'
import { askForNothing } from './small-request.ts'

export class ChannelOpener {
  readonly #client: Client
  readonly #owner: Owner
  readonly #firstChannel: FirstChannel

  /** @param owner - the connection, as its channels see it. */
  constructor(client: Client, owner: Owner, ident: string) {
    this.#client = client
    this.#owner = owner
    this.#firstChannel = new FirstChannel(client, ident)
  }

  /** To be told when something came from the server. */
  heard(): void {
    this.#firstChannel.heard()
  }

  /**
   * A command, by the account's login shell.
   * @param changes - starting it may change something.
   * @throws ChannelRefused; ChannelError `no-exec`; LinkLostError.
   */
  command(command: string, terminal: TerminalSize | undefined, changes: boolean): Promise<ExecChannel> {
    const options =
      terminal === undefined ? {} : { pty: { term: terminal.type, rows: terminal.rows, cols: terminal.cols } }
    const doing = 'opening a command channel'
    return this.#ask(doing, (done) => this.#client.exec(command, options, done), changes).catch(
      (error: unknown) => {
        throw this.#asCommandError(error, changes)
      },
    )
  }

  /**
   * @param changes - what is asked for may change something, although no answer comes.
   * @throws ChannelRefused; ChannelClosed; LinkLostError; ssh2's error when the server refuses what was asked for.
   */
  async #ask(doing: string, ask: (done: ClientCallback) => void, changes = false): Promise<ExecChannel> {
    const opening = new Promise<ExecChannel>((resolve, reject) => {
      const close = askedOn(this.#client, () =>
        ask((error, channel) => {
          // Wrapped at once: the exit of a short command may already be in the packet being read.
          if (error === undefined || error === null) {
            resolve(new ExecChannel(channel, this.#owner))
          } else if (/channel open failure/i.test(messageOf(error))) {
            reject(new ChannelRefused(messageOf(error), { cause: error }))
          } else {
            const told = close()
            reject(
              told ? error : new ChannelClosed('the server closed the channel unasked', { cause: error }),
            )
          }
        }),
      )
    })
    this.#firstChannel.asked(opening)
    let verdict: Promise<void> | undefined
    try {
      const deadline = patience(this.#owner, this.#owner.requestMs, () => {
        verdict = this.#owner.suspect(this.#owner.requestMs)
        return this.#silence(doing, changes)
      })
      return await race(() => opening, [diesWith(this.#owner.dead)], deadline)
    } catch (error) {
      // Whoever hears of the failure may try again at once: by then it is known whether the line is dead.
      await verdict
      opening.then(
        (late) => late.close(),
        (_theSameError: unknown) => undefined,
      )
      throw error
    }
  }

  /** The service `sftp`. @throws ChannelRefused; ChannelClosed; LinkLostError; ssh2's error when there is none. */
  sftpService(): Promise<ExecChannel> {
    return this.#ask('opening SFTP', (done) => this.#client.subsys('sftp', done))
  }

  /** A program in place of that service. @throws as `sftpService`. */
  sftpProgram(line: string): Promise<ExecChannel> {
    return this.#ask('opening SFTP', (done) => this.#client.exec(line, done))
  }

  /**
   * A TCP connection that the machine makes for us.
   * @throws ChannelError `refused` with the machine's own words; LinkLostError; what `ways` throw.
   */
  forward(host: string, port: number, ways: readonly WayOut[]): Promise<Duplex> {
    return race(
      () =>
        new Promise<Duplex>((resolve, reject) => {
          this.#client.forwardOut('127.0.0.1', 0, host, port, (error, channel) => {
            if (error === undefined || error === null) resolve(channel)
            else reject(this.#asForwardError(error, `${host} port ${port}`))
          })
        }),
      [...ways, diesWith(this.#owner.dead)],
    )
  }

  /** Settles when the machine answers. @throws LinkLostError when it does not. */
  signOfLife(withinMs: number): Promise<void> {
    return race(
      () => new Promise<void>((resolve) => askForNothing(this.#client, resolve)),
      [diesWith(this.#owner.dead)],
      { afterMs: withinMs, error: () => this.#silence('asking for a sign of life') },
    )
  }

  #asCommandError(error: unknown, changes: boolean): unknown {
    if (error instanceof ChannelRefused || error instanceof LinkLostError) return error
    const text = messageOf(error)
    if (error instanceof ChannelClosed) {
      return new ChannelError(`a command was not started: ${text}`, 'no-exec', {
        machine: this.#owner.machine,
        cause: error,
      })
    }
    if (/unable to exec/i.test(text)) {
      return new ChannelError('it allows no commands for this account', 'no-exec', {
        machine: this.#owner.machine,
        cause: error,
      })
    }
    return new LinkLostError(`a command could not be started: ${text}`, {
      machine: this.#owner.machine,
      // ssh2 says this alone before it has asked for anything.
      outcomeUnknown: changes && !/^not connected/i.test(text),
      cause: error,
    })
  }

  #silence(doing: string, outcomeUnknown = false): LinkLostError {
    return new LinkLostError(`no answer within ${this.#owner.requestMs / 1000} s while ${doing}`, {
      machine: this.#owner.machine,
      outcomeUnknown,
    })
  }

  #asForwardError(error: Error, where: string): Error {
    const text = messageOf(error)
    if (/channel open failure/i.test(text)) {
      const words = text.replace(/^.*channel open failure:?\s*/i, '')
      return new ChannelError(`cannot connect to ${where}: ${words}`, 'refused', {
        machine: this.#owner.machine,
        cause: error,
      })
    }
    return new LinkLostError(`no connection could be forwarded: ${text}`, {
      machine: this.#owner.machine,
      cause: error,
    })
  }
}
