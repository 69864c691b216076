/**
 * A second SFTP channel of a connection, for bulk, so that small requests wait neither behind its data nor for
 * a server process that is busy with a large file. It is opened at first need and closed when nobody has used
 * it for a while, or at once when a command waits for its place. Where it cannot be had, the channel for small
 * requests serves. Knows nothing of files.
 */
import { SharedAttempt } from '../../base/shared-attempt.ts'
import type { SftpChannel } from '../channel/sftp.ts'

/** Opening takes four round trips: what is smaller is through by then, and goes over what is open. */
const WORTH_WAITING_BYTES = 2 * 1024 * 1024
const IDLE_MS = 30_000
/** A server that refused is not asked again for so long. */
const REFUSED_MS = 60_000

export interface LanePorts {
  readonly machine: string
  /** The channel for small requests. */
  small(signal: AbortSignal | undefined): Promise<SftpChannel>
  /**
   * A session for it, if one is free; to be given back once. `yields` is called when a command waits for one.
   */
  place(yields: () => boolean): (() => void) | undefined
  /** @throws anything: it cannot be had now. */
  open(): Promise<SftpChannel>
}

/** The use of a channel by one transfer; handles belong to the channel. */
export interface Lease {
  readonly sftp: SftpChannel
  /** Whether small requests use this channel too. */
  readonly shared: boolean
  /** To be called once. */
  release(): void
}

interface Open {
  readonly sftp: SftpChannel
  readonly leave: () => void
  users: number
  /** A command waits for its place. */
  unwanted: boolean
  timer: NodeJS.Timeout | undefined
}

export class BulkLane {
  readonly #ports: LanePorts
  readonly #opening: SharedAttempt<Open | undefined>
  #open: Open | undefined
  #refusedUntil = 0

  constructor(ports: LanePorts) {
    this.#ports = ports
    this.#opening = new SharedAttempt(`opening SFTP for bulk on ${ports.machine}`, () => this.#tryToOpen())
  }

  get busy(): boolean {
    return (this.#open?.users ?? 0) > 0
  }

  /**
   * @param bytes - about as many as will be moved.
   * @throws as `Link.sftp`; CancelledError.
   */
  async lease(bytes: number, signal?: AbortSignal): Promise<Lease> {
    const open = this.#usable() ?? (await this.#opened(bytes, signal))
    if (open === undefined) {
      return { sftp: await this.#ports.small(signal), shared: true, release: () => undefined }
    }
    clearTimeout(open.timer)
    open.users += 1
    let released = false
    const release = (): void => {
      if (released) return
      released = true
      open.users -= 1
      if (open.users === 0) this.#rest(open)
    }
    return { sftp: open.sftp, shared: false, release }
  }

  /** Close it, at once or when the transfers that use it are over. @returns whether it was closed at once. */
  yield(): boolean {
    const open = this.#open
    if (open === undefined) return false
    open.unwanted = true
    if (open.users > 0) return false
    this.#close(open)
    return true
  }

  #usable(): Open | undefined {
    if (this.#open?.sftp.usable === false) this.#close(this.#open)
    return this.#open
  }

  async #opened(bytes: number, signal: AbortSignal | undefined): Promise<Open | undefined> {
    if (performance.now() < this.#refusedUntil) return undefined
    const opening = this.#opening.join(bytes < WORTH_WAITING_BYTES ? undefined : signal)
    if (bytes >= WORTH_WAITING_BYTES) return opening
    opening.catch((_foundOutByTheNext: unknown) => undefined)
    return undefined
  }

  async #tryToOpen(): Promise<Open | undefined> {
    const leave = this.#ports.place(() => this.yield())
    if (leave === undefined) return undefined
    try {
      const open = { sftp: await this.#ports.open(), leave, users: 0, unwanted: false, timer: undefined }
      this.#open = open
      this.#rest(open)
      return open
    } catch (_itCannotBeHadNow: unknown) {
      leave()
      this.#refusedUntil = performance.now() + REFUSED_MS
      return undefined
    }
  }

  #rest(open: Open): void {
    if (open.unwanted || !open.sftp.usable) {
      this.#close(open)
      return
    }
    open.timer = setTimeout(() => open.users === 0 && this.#close(open), IDLE_MS)
    open.timer.unref()
  }

  #close(open: Open): void {
    clearTimeout(open.timer)
    if (this.#open === open) this.#open = undefined
    open.sftp.end()
    open.leave()
  }
}
