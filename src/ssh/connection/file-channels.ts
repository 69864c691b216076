/**
 * The SFTP channels of one connection: the one for small requests, opened at first use and again when it was given
 * up as frozen, and one for bulk beside it, where there is room.
 */
import { diesWith, race } from '../../base/race.ts'
import { SharedAttempt } from '../../base/shared-attempt.ts'
import type { ExecChannel, Owner } from '../channel/exec.ts'
import { openBulkSftp, openSftp, type SftpOpener } from '../channel/open-sftp.ts'
import type { SftpChannel } from '../channel/sftp.ts'
import { ChannelError, SftpSilentError } from '../errors.ts'
import { BulkLane, type Lease } from './bulk-lane.ts'
import type { ChannelOpener } from './channel-opener.ts'
import { QueueLeft, type ChannelSlots } from './channel-slots.ts'

/** Milliseconds after which a command is no short one. */
const SHORT_MS = 1000

/** Where SFTP does not begin to speak, all hear of that for so many times as long as it was waited for. */
const SILENT_TIMES = 2

/** What is needed of the connection. */
export interface FileChannelsNeeds {
  readonly owner: Owner
  /** The server's identification. */
  readonly ident: string
  readonly opener: ChannelOpener
  readonly slots: ChannelSlots
  /** One short command at a time. */
  readonly serial: boolean
  /** Command channels that are open now. */
  commandsRunning(): number
  /** Give the connection up. @returns the reason that everybody hears. */
  giveUp(why: string, cause: unknown): Error
}

export class FileChannels {
  readonly #needs: FileChannelsNeeds
  readonly #opening: SharedAttempt<SftpChannel>
  readonly #bulk: BulkLane
  #sftp: SftpChannel | undefined
  /** The last attempt, if it met silence; the next one is not before `until`. */
  #silent: { readonly error: SftpSilentError; readonly until: number } | undefined

  constructor(needs: FileChannelsNeeds) {
    const { owner, slots, serial } = needs
    this.#needs = needs
    this.#opening = new SharedAttempt(`opening SFTP on ${owner.machine}`, () => this.#open())
    this.#bulk = new BulkLane({
      machine: owner.machine,
      small: (signal) => this.small(signal),
      place: (yields) => (serial ? undefined : slots.takeBeside(yields)),
      open: () => openBulkSftp(this.#opener()),
    })
  }

  /** The channel for small requests that is open now. */
  get opened(): SftpChannel | undefined {
    return this.#sftp?.usable === true ? this.#sftp : undefined
  }

  /** Something waits for an answer, or bulk moves. */
  get busy(): boolean {
    return (this.#sftp?.pending ?? 0) > 0 || this.#bulk.busy
  }

  /** @throws ChannelError `no-sftp` when the machine has no SFTP; LinkLostError. */
  async small(signal?: AbortSignal): Promise<SftpChannel> {
    if (this.#silent !== undefined && performance.now() < this.#silent.until) throw this.#silent.error
    return this.opened ?? race(() => this.#opening.join(signal), [diesWith(this.#needs.owner.dead)])
  }

  /**
   * For a transfer of about so many bytes: a channel of its own, where that can be had.
   * @throws as `small`; CancelledError.
   */
  bulk(bytes: number, signal?: AbortSignal): Promise<Lease> {
    return race(() => this.#bulk.lease(bytes, signal), [diesWith(this.#needs.owner.dead)])
  }

  #opener(): SftpOpener {
    return {
      owner: this.#needs.owner,
      ident: this.#needs.ident,
      service: () => this.#needs.opener.sftpService(),
      command: (line) => this.#startProgram(line),
    }
  }

  async #open(): Promise<SftpChannel> {
    const before = this.#sftp
    if (before !== undefined) this.#bulk.yield()
    const began = performance.now()
    const channel = await openSftp(this.#opener()).catch((error: unknown) => {
      if (before === undefined && error instanceof SftpSilentError) {
        const now = performance.now()
        this.#silent = { error, until: now + SILENT_TIMES * (now - began) }
      }
      // The server counts a channel that froze as long as what froze in it lives, however often we close it.
      if (before === undefined || this.#needs.commandsRunning() > 0 || !isRefused(error)) throw error
      throw this.#needs.giveUp('its SSH server gives no other channel for files after one froze', error)
    })
    this.#sftp = channel
    return channel
  }

  /** A command that is short if it fails and stays if it does not. */
  async #startProgram(line: string): Promise<{ channel: ExecChannel; settled(): void }> {
    const start = (): Promise<ExecChannel> => this.#needs.opener.sftpProgram(line)
    const direct = async (): Promise<{ channel: ExecChannel; settled(): void }> => ({
      channel: await start(),
      settled: () => undefined,
    })
    if (!this.#needs.serial) return direct()
    try {
      // A command that runs for longer than that is no short one that could end at the wrong moment.
      const { channel, release } = await this.#needs.slots.acquire(
        start,
        this.#needs.owner.dead,
        AbortSignal.timeout(SHORT_MS),
      )
      return { channel, settled: release }
    } catch (error) {
      if (error instanceof QueueLeft) return direct()
      throw error
    }
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof ChannelError && error.code === 'refused'
}
