/**
 * Requests on one SFTP channel, each racing the connection's death, the caller's signal and a deadline, with typed
 * failures. Several may be in flight at once. Knows nothing of what is asked.
 *
 * A request that gets no answer marks the channel as frozen (an sftp-server blocks on opening a FIFO,
 * for instance): it is given up with everything that waits on it, while the connection stays.
 */
import type { SFTPWrapper } from 'ssh2'
import { callerLeaves, race } from '../../base/race.ts'
import { messageOf } from '../../base/failure.ts'
import { LinkLostError, SftpStatusError, type SftpStatus } from '../errors.ts'
import type { Owner } from './exec.ts'
import { patience } from './patience.ts'

/** Status codes of draft-ietf-secsh-filexfer-02, section 7. */
const STATUS: Readonly<Record<number, SftpStatus>> = {
  1: 'eof',
  2: 'no-such-file',
  3: 'permission-denied',
  4: 'failure',
  5: 'bad-message',
  8: 'unsupported',
}

export type Callback<T> = (error: Error | undefined | null, value: T) => void

/** Whether a request changes something: a lost one then has an unknown outcome. */
export type Effect = 'reads' | 'changes'

/**
 * `small`: answered at once by a server that answers at all; tells how far away it is. `bulk`: queues behind
 * bulk, so that only a channel on which nothing is answered any more has kept it too long. `disk`: the same, and
 * the disk may take its time.
 */
export type Weight = 'plain' | 'small' | 'bulk' | 'disk'
/** What the disk may take, in times of what a small request may. */
const DISK_TIMES = 8

export class SftpRequests {
  readonly #sftp: SFTPWrapper
  readonly #owner: Owner
  #frozen = false
  /** Settles when it is known whether only this channel is frozen. */
  #verdict: Promise<void> | undefined
  #closed = false
  #pending = 0
  #lastAnswer = 0

  constructor(sftp: SFTPWrapper, owner: Owner) {
    this.#sftp = sftp
    this.#owner = owner
    sftp.on('close', () => {
      this.#closed = true
    })
    sftp.on('error', (_seenByTheRequests: unknown) => {
      this.#closed = true
    })
  }

  get usable(): boolean {
    return !this.#frozen && !this.#closed && !this.#owner.dead.aborted
  }

  get machine(): string {
    return this.#owner.machine
  }

  /** Those without an answer yet. */
  get pending(): number {
    return this.#pending
  }

  /** Close the channel; what waits for an answer on it fails. */
  end(): void {
    this.#closed = true
    this.#sftp.end()
  }

  /**
   * @param start - sends the request, and hands the answer on.
   * @throws SftpStatusError with the server's answer; LinkLostError when there is none; CancelledError.
   */
  async request<T>(
    operation: string,
    effect: Effect,
    signal: AbortSignal | undefined,
    start: (done: Callback<T>) => void,
    weight: Weight = 'plain',
  ): Promise<T> {
    const { machine, requestMs: deadlineMs } = this.#owner
    const patienceMs = weight === 'disk' ? DISK_TIMES * deadlineMs : deadlineMs
    if (!this.usable) throw new LinkLostError(`${operation}: the SFTP channel is closed`, { machine })
    this.#pending += 1
    const began = performance.now()
    const answered = (error: Error | undefined | null): void => {
      if (error !== undefined && error !== null && statusCodeOf(error) === undefined) return
      this.#lastAnswer = performance.now()
      if (weight === 'small') this.#owner.roundTrip.note(this.#lastAnswer - began)
    }
    try {
      return await race(
        () =>
          new Promise<T>((resolve, reject) => {
            const fail = (error: Error): void => reject(this.#asError(operation, effect, error))
            try {
              start((error, value) => {
                answered(error)
                if (error === undefined || error === null) resolve(value)
                else fail(error)
              })
            } catch (error) {
              // An extension that the server has not announced is refused before anything is sent.
              if (!(error instanceof Error)) throw error
              fail(error)
            }
          }),
        [
          ...callerLeaves(signal, `${operation} on ${machine}`),
          {
            signal: this.#owner.dead,
            error: (reason) =>
              new LinkLostError(`the connection was lost during ${operation}`, {
                machine,
                outcomeUnknown: effect === 'changes',
                cause: reason,
              }),
          },
        ],
        patience(
          this.#owner,
          deadlineMs,
          () => this.#freeze(operation, effect, patienceMs),
          () => {
            if (weight !== 'bulk' && weight !== 'disk') return 0
            // It may as well be the line that is dead: that need not take as long as a disk may.
            if (weight === 'disk') void this.#owner.suspect(deadlineMs)
            const leftMs = patienceMs - (performance.now() - Math.max(began, this.#lastAnswer))
            return Math.min(deadlineMs, leftMs)
          },
        ),
      )
    } catch (error) {
      // Whoever hears of the failure may try again at once: by then it is known whether the line is dead.
      await this.#verdict
      throw error
    } finally {
      this.#pending -= 1
    }
  }

  #freeze(operation: string, effect: Effect, deadlineMs: number): LinkLostError {
    this.#frozen = true
    // What else waits here is failed by this, with the reason that the server did not answer.
    this.#sftp.end()
    this.#verdict ??= this.#owner.suspect(deadlineMs)
    return new LinkLostError(`no answer to ${operation} within ${deadlineMs / 1000} s`, {
      machine: this.#owner.machine,
      outcomeUnknown: effect === 'changes',
    })
  }

  #asError(operation: string, effect: Effect, error: Error): Error {
    const machine = this.#owner.machine
    const message = messageOf(error)
    const code = statusCodeOf(error)
    if (code !== undefined) {
      return new SftpStatusError(STATUS[code] ?? 'other', operation, { machine, message, cause: error })
    }
    if (/does not support this extended request/i.test(message)) {
      return new SftpStatusError('unsupported', operation, { machine, message, cause: error })
    }
    // "No response from server" and its kin: the answer will never come.
    this.#closed = true
    return new LinkLostError(`${operation}: ${message}`, {
      machine,
      outcomeUnknown: effect === 'changes',
      cause: error,
    })
  }
}

/** The code of a status that the server answered with; the library also fails requests by itself. */
function statusCodeOf(error: Error): number | undefined {
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined
  return code === 6 || code === 7 ? undefined : code
}
