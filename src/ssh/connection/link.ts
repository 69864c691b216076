/**
 * One live connection to one machine, from `ready` to its death. It dies once, with one typed cause
 * that every operation on it races against; it is never revived (a new one is made at the next use).
 */
import type { Duplex } from 'node:stream'
import type { Client } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import { callerLeaves, diesWith, race } from '../../base/race.ts'
import { SharedAttempt } from '../../base/shared-attempt.ts'
import type { MachineSettings } from '../config/settings.ts'
import { ExecChannel, type TerminalSize } from '../channel/exec.ts'
import { SftpChannel } from '../channel/sftp.ts'
import { ChannelError, LinkLostError, type Stage } from '../errors.ts'
import type { KeyDescription } from '../trust/fingerprint.ts'
import { ChannelRefused, ChannelSlots } from './channel-slots.ts'

/** A channel open, or any other small request, that has no answer by then will have none. */
export const SMALL_REQUEST_MS = 15_000

export interface LinkFacts {
  readonly machine: string
  readonly settings: MachineSettings
  readonly hostKey: KeyDescription | undefined
  /** What a person should hear about this connection. */
  readonly warnings: readonly string[]
  /** The server's identification line, e.g. `SSH-2.0-OpenSSH_9.2p1`. */
  readonly ident: string
  /** How we authenticated. */
  readonly method: string
  readonly stages: readonly { readonly stage: Stage; readonly ms: number }[]
  /** Address and port that we are connected to. */
  readonly address: string
}

export interface ExecOptions {
  readonly signal?: AbortSignal | undefined
  /** Run it on a pseudo-terminal of this size. */
  readonly terminal?: TerminalSize
  /** It stays open for long and does little: a terminal, a shell that waits for questions. */
  readonly lasting?: boolean
  /** Called when others wait for its place, as long as its channel is open: it may close itself. */
  readonly yields?: () => void
  /** Aborted when the command can run elsewhere: it leaves the queue, unless its channel opens already. */
  readonly leaveQueue?: AbortSignal
}

/** How a command is run on a machine, wherever there is room for it. */
export type Exec = (command: string, options?: ExecOptions) => Promise<ExecChannel>

export class Link {
  readonly facts: LinkFacts
  readonly #client: Client
  readonly #death = new AbortController()
  readonly #slots: ChannelSlots
  /** Slots of what stays open for long; the same ones, where the server does not mind. */
  readonly #lasting: ChannelSlots
  readonly #openingSftp: SharedAttempt<SftpChannel>
  #sftp: SftpChannel | undefined
  #lastUse = performance.now()
  #lastByte = performance.now()

  constructor(client: Client, socket: Duplex, facts: LinkFacts) {
    this.facts = facts
    this.#client = client
    // dropbear before its fix ends the connection when short commands run side by side.
    const serial = /dropbear/i.test(facts.ident)
    this.#lasting = new ChannelSlots(facts.machine)
    this.#slots = serial ? new ChannelSlots(facts.machine, 1) : this.#lasting
    this.#openingSftp = new SharedAttempt(`opening SFTP on ${facts.machine}`, () => this.#openSftp())
    socket.on('data', () => {
      this.#lastByte = performance.now()
    })
    client.on('error', (error) => this.#die(`the connection broke: ${messageOf(error)}`, error))
    client.on('end', () => this.#die('the machine closed the connection'))
    client.on('close', () => this.#die('the connection was closed'))
  }

  get machine(): string {
    return this.facts.machine
  }

  /** Aborted with a `LinkLostError` when the connection is gone. */
  get dead(): AbortSignal {
    return this.#death.signal
  }

  get alive(): boolean {
    return !this.#death.signal.aborted
  }

  /** Command channels that are open now. */
  get commandsRunning(): number {
    return this.#slots === this.#lasting ? this.#slots.open : this.#slots.open + this.#lasting.open
  }

  /** Not even one command can be had here, as far as we know: files take all that the server allows. */
  isHopeless(options: ExecOptions): boolean {
    return this.#slotsFor(options).limit === 0
  }

  /** A command would be started at once, as far as we know. */
  hasRoom(options: ExecOptions): boolean {
    return this.#slotsFor(options).hasRoom
  }

  /** Milliseconds since the last request began or ended; 0 while a command runs. */
  get idleMs(): number {
    if (this.commandsRunning > 0 || (this.#sftp?.pending ?? 0) > 0) return 0
    return performance.now() - this.#lastUse
  }

  /** A request had no answer for so long; when nothing else came either, the line is dead, not one channel. */
  suspect(silentMs: number): void {
    if (performance.now() - this.#lastByte < silentMs) return
    this.#die(`nothing came from the machine for ${Math.round(silentMs / 1000)} s`)
    this.#client.destroy()
  }

  /** Mark the connection as used, so that it is not closed as idle. */
  touch(): void {
    this.#lastUse = performance.now()
  }

  /**
   * The SFTP channel; opened at first use, opened anew after it was given up as frozen.
   * @throws ChannelError `no-sftp` when the machine has no SFTP; LinkLostError.
   */
  async sftp(signal?: AbortSignal): Promise<SftpChannel> {
    this.touch()
    if (this.#sftp?.usable === true) return this.#sftp
    return race(() => this.#openingSftp.join(signal), [diesWith(this.dead)])
  }

  /**
   * Run a command line through the user's login shell, as `ssh host <command>` does.
   * @param command - already quoted; the login shell parses it.
   * @throws ChannelError `no-exec` or `refused`; LinkLostError; QueueLeft.
   */
  async exec(command: string, options: ExecOptions = {}): Promise<ExecChannel> {
    const { signal } = options
    this.touch()
    const leave = callerLeaves(signal, `a command on ${this.machine}`)
    const giveUp = signal === undefined ? this.dead : AbortSignal.any([this.dead, signal])
    const acquired = this.#slotsFor(options).acquire(
      () => this.#openExec(command, options.terminal),
      giveUp,
      options.leaveQueue,
    )
    const { channel, release } = await race(() => acquired, [...leave, diesWith(this.dead)]).catch(
      (error: unknown) => {
        // The caller has left; a channel that opens after all is nobody's, so it must not keep its slot.
        acquired.then(
          (late) => {
            late.channel.close()
            late.release()
          },
          (_alsoFailed: unknown) => undefined,
        )
        throw error
      },
    )
    void channel.closed.then(() => {
      this.touch()
      release()
    })
    return channel
  }

  /** Close politely. Safe to call on a dead link. */
  end(): void {
    this.#die('the connection was closed by Presence')
    this.#client.end()
  }

  #slotsFor({ lasting = false }: ExecOptions): ChannelSlots {
    return lasting ? this.#lasting : this.#slots
  }

  #openExec(command: string, terminal: TerminalSize | undefined): Promise<ExecChannel> {
    const options =
      terminal === undefined ? {} : { pty: { term: terminal.type, rows: terminal.rows, cols: terminal.cols } }
    return race(
      () =>
        new Promise<ExecChannel>((resolve, reject) => {
          this.#client.exec(command, options, (error, channel) => {
            // Wrapped at once: the exit of a short command may already be in the packet being read.
            if (error === undefined || error === null) resolve(new ExecChannel(channel, this))
            else reject(this.#asChannelError(error))
          })
        }),
      [diesWith(this.dead)],
      { afterMs: SMALL_REQUEST_MS, error: () => this.#silence('opening a command channel') },
    )
  }

  async #openSftp(): Promise<SftpChannel> {
    const channel = await race(
      () =>
        new Promise<SftpChannel>((resolve, reject) => {
          this.#client.sftp((error, sftp) => {
            if (error === undefined || error === null) resolve(new SftpChannel(sftp, this))
            else reject(this.#asSftpError(error))
          })
        }),
      [diesWith(this.dead)],
      { afterMs: SMALL_REQUEST_MS, error: () => this.#silence('opening SFTP') },
    )
    this.#sftp = channel
    return channel
  }

  #asChannelError(error: Error): Error {
    const text = messageOf(error)
    if (/channel open failure/i.test(text)) return new ChannelRefused(text, { cause: error })
    if (/unable to exec/i.test(text)) {
      return new ChannelError('it allows no commands for this account', 'no-exec', {
        machine: this.machine,
        cause: error,
      })
    }
    return new LinkLostError(`a command could not be started: ${text}`, {
      machine: this.machine,
      cause: error,
    })
  }

  #asSftpError(error: Error): Error {
    const text = messageOf(error)
    const details = { machine: this.machine, cause: error }
    const chatter = /packet length (\d+) exceeds/i.exec(text)
    if (chatter?.[1] !== undefined) {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(Number(chatter[1]) >>> 0)
      return new ChannelError(
        `SFTP is broken by text that a login script prints (it begins with "${bytes.toString('latin1')}"); ` +
          'print only in interactive shells, or use the internal-sftp subsystem',
        'no-sftp',
        details,
      )
    }
    if (/subsystem/i.test(text)) return new ChannelError('its SSH server offers no SFTP', 'no-sftp', details)
    if (/channel open failure/i.test(text)) {
      return new ChannelError('it allows no further channel for SFTP', 'refused', details)
    }
    return new LinkLostError(`SFTP could not be opened: ${text}`, details)
  }

  #silence(doing: string): LinkLostError {
    return new LinkLostError(`no answer within ${SMALL_REQUEST_MS / 1000} s while ${doing}`, {
      machine: this.machine,
    })
  }

  #die(reason: string, cause?: unknown): void {
    if (!this.alive) return
    this.#death.abort(new LinkLostError(reason, { machine: this.machine, cause }))
  }
}
