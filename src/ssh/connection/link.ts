/**
 * One live connection to one machine, from `ready` to its death. It dies once, with one typed cause
 * that every operation on it races against; it is never revived (a new one is made at the next use).
 */
import type { Duplex } from 'node:stream'
import type { Client } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import { callerLeaves, pause, race, type WayOut } from '../../base/race.ts'
import type { ExecChannel, TerminalSize } from '../channel/exec.ts'
import type { SftpChannel } from '../channel/sftp.ts'
import { LinkLostError } from '../errors.ts'
import type { Lease } from './bulk-lane.ts'
import type { Carrier } from './carrier.ts'
import { ChannelOpener } from './channel-opener.ts'
import { ChannelRefused, ChannelSlots } from './channel-slots.ts'
import { FileChannels } from './file-channels.ts'
import { Flow, type FlowLine } from './flow.ts'
import type { LinkFacts } from './link-facts.ts'
import { RoundTrip } from './round-trip.ts'
import { SignsOfLife } from './signs-of-life.ts'

/** A channel open, or any other small request, that has no answer by then will have none. */
export const SMALL_REQUEST_MS = 15_000
/** A server has that long to close what we have ended politely. */
const FAREWELL_MS = 2000
/** How much longer than a keepalive interval a live machine can be silent. */
const KEEPALIVE_ANSWER_MS = 5000

export interface ExecOptions {
  readonly signal?: AbortSignal | undefined
  /** Run it on a pseudo-terminal of this size. */
  readonly terminal?: TerminalSize
  /** It stays open for long and does little: a terminal, a shell that waits for questions. */
  readonly lasting?: boolean
  /** Called when others wait for its place, as long as its channel is open: it may close itself. */
  readonly yields?: () => void
  /** It mostly waits: being open is no use of the connection, which may be closed as idle under it. */
  readonly idles?: boolean
  /** Aborted when one that idled begins to work: from then on it is a use of the connection. */
  readonly wakes?: AbortSignal
  /** Nothing is changed by starting it: a lost answer then leaves no doubt. */
  readonly harmless?: boolean
  /**
   * It can be done without: refused where there is no room at once, never a reason for one more connection, and
   * the first to be asked to yield.
   */
  readonly modest?: boolean
  /** It ends what others wait for, so it waits for none of them: one connection more than usual may be made. */
  readonly urgent?: boolean
  /** Aborted when the command can run elsewhere: it leaves the queue, unless its channel opens already. */
  readonly leaveQueue?: AbortSignal
}

/** How a command is run on a machine, wherever there is room for it. */
export type Exec = (command: string, options?: ExecOptions) => Promise<ExecChannel>

export class Link {
  readonly facts: LinkFacts
  readonly life: SignsOfLife
  readonly roundTrip = new RoundTrip()
  /** Bulk that comes, and bulk that goes. */
  readonly flows: { readonly down: Flow; readonly up: Flow }
  readonly #client: Client
  readonly #carrier: Carrier
  readonly #opener: ChannelOpener
  readonly #death = new AbortController()
  readonly #slots: ChannelSlots
  /** Slots of what stays open for long; the same ones, where the server does not mind. */
  readonly #lasting: ChannelSlots
  readonly #files: FileChannels
  /** One short command at a time. */
  readonly #serial: boolean
  /** As promised of every small request; a test may shorten it. */
  requestMs = SMALL_REQUEST_MS
  #lastUse = performance.now()
  /** Open channels that are no use of the connection. */
  #idling = 0

  constructor(client: Client, carrier: Carrier, facts: LinkFacts) {
    this.facts = facts
    this.#client = client
    this.#carrier = carrier
    // dropbear before its fix ends the connection when short commands run side by side.
    this.#serial = /dropbear/i.test(facts.ident)
    this.#lasting = new ChannelSlots(facts.machine)
    this.#slots = this.#serial ? new ChannelSlots(facts.machine, 1) : this.#lasting
    this.#opener = new ChannelOpener(client, this, facts.ident)
    this.life = new SignsOfLife({
      longestSilenceMs: facts.keepaliveMs + KEEPALIVE_ANSWER_MS,
      dead: this.dead,
      signOfLife: (withinMs) => this.#opener.signOfLife(withinMs),
      giveUp: (silentMs) => {
        this.#die(`nothing came from the machine for ${Math.round(silentMs / 1000)} s`)
        client.destroy()
      },
    })
    const line = this.#flowLine()
    this.flows = { down: new Flow(line), up: new Flow(line) }
    this.#files = new FileChannels({
      owner: this,
      ident: facts.ident,
      opener: this.#opener,
      slots: this.#slots,
      serial: this.#serial,
      commandsRunning: () => this.commandsRunning,
      giveUp: (why, cause) => {
        this.#die(why, cause)
        this.end()
        return this.dead.reason as Error
      },
    })
    carrier.stream.on('data', () => {
      this.life.heard()
      this.#opener.heard()
    })
    client.on('error', (error) => this.#die(`the connection broke: ${messageOf(error)}`, error))
    client.on('end', () => this.#die('the machine closed the connection'))
    client.on('close', () => {
      this.#die('the connection was closed')
      carrier.close()
    })
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

  /** Its server bears one short command at a time, and nothing that waits beside it. */
  get takesTurns(): boolean {
    return this.#serial
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

  /** Milliseconds since the last request began or ended; 0 while a command runs that does not merely idle. */
  get idleMs(): number {
    if (this.commandsRunning > this.#idling || this.#files.busy) return 0
    return performance.now() - this.#lastUse
  }

  /** As `SignsOfLife.suspect`. */
  suspect(silentMs: number): Promise<void> {
    return this.life.suspect(silentMs)
  }

  /** The shortest that a small request has taken lately, in milliseconds; infinite before the first. */
  get roundTripMs(): number {
    return this.roundTrip.ms ?? Number.POSITIVE_INFINITY
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
    return this.#files.small(signal)
  }

  /** The SFTP channel that is open now; asking for it is no use of the connection. */
  get openedSftp(): SftpChannel | undefined {
    return this.#files.opened
  }

  /**
   * A channel for a transfer of about so many bytes: one of its own, where that can be had.
   * @throws as `sftp`; CancelledError.
   */
  async bulkSftp(bytes: number, signal?: AbortSignal): Promise<Lease> {
    this.touch()
    const lease = await this.#files.bulk(bytes, signal)
    const release = (): void => {
      this.touch()
      lease.release()
    }
    return { ...lease, release }
  }

  /**
   * Run a command line through the user's login shell, as `ssh host <command>` does.
   * @param command - already quoted; the login shell parses it.
   * @throws ChannelError `no-exec` or `refused`; LinkLostError; QueueLeft.
   */
  async exec(command: string, options: ExecOptions = {}): Promise<ExecChannel> {
    const { signal, idles = false, wakes, harmless = false } = options
    if (!idles) this.touch()
    const leave = callerLeaves(signal, `a command on ${this.machine}`)
    const giveUp = signal === undefined ? this.dead : AbortSignal.any([this.dead, signal])
    // Once it was asked for, it may be running, whatever is heard of it.
    let asked = false
    const ask = (): Promise<ExecChannel> => {
      asked = !harmless
      return this.#opener.command(command, options.terminal, !harmless).catch((error: unknown) => {
        if (error instanceof ChannelRefused) asked = false
        throw error
      })
    }
    const dies: WayOut = {
      signal: this.dead,
      error: (reason) => (asked ? this.#lostAtStart(reason) : (reason as LinkLostError)),
    }
    const acquired = this.#slotsFor(options).acquire(ask, giveUp, options.leaveQueue)
    const { channel, release } = await race(() => acquired, [...leave, dies]).catch((error: unknown) => {
      // The caller has left; a channel that opens after all is nobody's, so it must not keep its slot.
      acquired.then(
        (late) => {
          late.channel.close()
          late.release()
        },
        (_alsoFailed: unknown) => undefined,
      )
      throw error
    })
    const wake = (): void => {
      if (!idling) return
      idling = false
      this.#idling -= 1
      this.touch()
    }
    let idling = idles
    if (idling) this.#idling += 1
    wakes?.addEventListener('abort', wake)
    void channel.closed.then(() => {
      wakes?.removeEventListener('abort', wake)
      if (idling) this.#idling -= 1
      else this.touch()
      release()
    })
    return channel
  }

  /** As `ChannelOpener.forward`. */
  forward(host: string, port: number, ways: readonly WayOut[]): Promise<Duplex> {
    this.touch()
    return this.#opener.forward(host, port, ways)
  }

  /** Close politely. Safe to call on a dead link. */
  end(): void {
    this.#die('the connection was closed by Presence')
    this.#client.end()
    // A machine that is gone never answers the farewell; its socket must not stay for that.
    const last = setTimeout(() => this.#carrier.close(), FAREWELL_MS)
    void this.#carrier.ended.then(() => clearTimeout(last))
  }

  #slotsFor({ lasting = false }: ExecOptions): ChannelSlots {
    return lasting ? this.#lasting : this.#slots
  }

  #flowLine(): FlowLine {
    return {
      roundTripMs: () => this.roundTrip.ms,
      ask: async () => {
        const began = performance.now()
        await this.#opener.signOfLife(this.requestMs)
        const ms = performance.now() - began
        this.roundTrip.note(ms)
        return ms
      },
      now: () => performance.now(),
      pause: (ms) => pause(ms),
    }
  }

  #lostAtStart(cause: unknown): LinkLostError {
    return new LinkLostError('the connection was lost while a command was being started', {
      machine: this.machine,
      outcomeUnknown: true,
      cause,
    })
  }

  #die(reason: string, cause?: unknown): void {
    if (!this.alive) return
    const why = this.#carrier.fate()
    const whole = why === undefined ? reason : `${reason}; ${why}`
    this.#death.abort(new LinkLostError(whole, { machine: this.machine, cause }))
  }
}
