/**
 * SFTP version 3 on one channel: requests with typed failures, each racing the connection's death, the
 * caller's signal and a deadline. Several requests may be in flight at once; callers compose them into
 * flights. Knows the protocol, not what a file means.
 *
 * A request that gets no answer marks the channel as frozen (an sftp-server blocks on opening a FIFO,
 * for instance): it is given up with everything that waits on it, while the connection stays.
 */
import type { FileEntryWithStats, InputAttributes, SFTPWrapper, Stats } from 'ssh2'
import { callerLeaves, race } from '../../base/race.ts'
import { messageOf } from '../../base/failure.ts'
import { LinkLostError, SftpStatusError, type SftpStatus } from '../errors.ts'
import type { BulkRequests } from './bulk-requests.ts'
import type { Owner } from './exec.ts'
import { forLibrary, fromLibrary } from './name-bytes.ts'
import type { Conversation, Extensions, Offer } from './sftp-protocol.ts'

/** Status codes of draft-ietf-secsh-filexfer-02, section 7. */
const STATUS: Readonly<Record<number, SftpStatus>> = {
  1: 'eof',
  2: 'no-such-file',
  3: 'permission-denied',
  4: 'failure',
  5: 'bad-message',
  8: 'unsupported',
}

export interface FileAttributes {
  /** Type bits and permission bits; 0 when the server told none, as it may. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  /** Whole seconds since the epoch, by the machine's clock. */
  readonly mtime: number
}

export interface SftpEntry {
  readonly name: string
  /** As `lstat` would answer. */
  readonly attributes: FileAttributes
}

/** How SFTP was brought up. */
export type SftpWay =
  | { readonly kind: 'service' }
  /** The program at this path was run as a command; `reason` tells why, for a person. */
  | { readonly kind: 'program'; readonly program: string; readonly reason: string }

/** An open file or folder on the machine. */
export type SftpHandle = Buffer & { readonly __sftpHandle: true }

type Callback<T> = (error: Error | undefined | null, value: T) => void

/** Whether a request changes something: a lost one then has an unknown outcome. */
type Effect = 'reads' | 'changes'

/**
 * `small`: answered at once by a server that answers at all; tells how far away it is. `bulk`: queues behind
 * bulk, so that only a channel on which nothing is answered any more has kept it too long. `disk`: the same, and
 * the disk may take its time.
 */
type Weight = 'plain' | 'small' | 'bulk' | 'disk'
/** What the disk may take, in times of what a small request may. */
const DISK_TIMES = 8

/** `f_flag` of `statvfs@openssh.com` (OpenSSH's PROTOCOL, section 4.4). */
const READ_ONLY_FLAG = 1

export interface Volume {
  /** For an account without privileges, as is the next. */
  readonly freeBlocks: number
  readonly freeFiles: number
  /** 0 where the file system does not count files. */
  readonly files: number
  readonly readOnly: boolean
}

export class SftpChannel {
  /** What the server offers beyond version 3, by its own names. */
  readonly extensions: Extensions
  /** The most bytes that one `read` gives, and that one `write` takes. */
  readonly longest: Offer['longest']
  readonly way: SftpWay
  readonly #sftp: SFTPWrapper
  readonly #bulk: BulkRequests
  readonly #owner: Owner
  #frozen = false
  /** Settles when it is known whether only this channel is frozen. */
  #verdict: Promise<void> | undefined
  #closed = false
  #pending = 0
  #lastAnswer = 0

  constructor({ sftp, bulk }: Conversation, owner: Owner, { extensions, longest }: Offer, way: SftpWay) {
    this.#sftp = sftp
    this.#bulk = bulk
    this.#owner = owner
    this.extensions = extensions
    this.longest = longest
    this.way = way
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

  /** Requests without an answer yet. */
  get pending(): number {
    return this.#pending
  }

  realpath(path: string, signal?: AbortSignal): Promise<string> {
    return this.#ask<string>('realpath', signal, (done) => this.#sftp.realpath(forLibrary(path), done)).then(
      fromLibrary,
    )
  }

  stat(path: string, signal?: AbortSignal): Promise<FileAttributes> {
    return this.#ask<Stats>('stat', signal, (done) => this.#sftp.stat(forLibrary(path), done)).then(
      attributesOf,
    )
  }

  lstat(path: string, signal?: AbortSignal): Promise<FileAttributes> {
    return this.#ask<Stats>('lstat', signal, (done) => this.#sftp.lstat(forLibrary(path), done)).then(
      attributesOf,
    )
  }

  readlink(path: string, signal?: AbortSignal): Promise<string> {
    return this.#ask<string>('readlink', signal, (done) => this.#sftp.readlink(forLibrary(path), done)).then(
      fromLibrary,
    )
  }

  openForReading(path: string, signal?: AbortSignal): Promise<SftpHandle> {
    return this.#request<Buffer>('open', 'reads', signal, (done) =>
      this.#sftp.open(forLibrary(path), 'r', done),
    ).then(asHandle)
  }

  /** Create a file that must not exist yet; `mode` is subject to the server's umask. */
  createExclusively(path: string, mode: number, signal?: AbortSignal): Promise<SftpHandle> {
    return this.#request<Buffer>('create', 'changes', signal, (done) =>
      this.#sftp.open(forLibrary(path), 'wx', mode, done),
    ).then(asHandle)
  }

  /** Open an existing file to overwrite it in place; its old content is cut off. */
  openForOverwriting(path: string, signal?: AbortSignal): Promise<SftpHandle> {
    return this.#request<Buffer>('open for writing', 'changes', signal, (done) =>
      this.#sftp.open(forLibrary(path), 'w', done),
    ).then(asHandle)
  }

  /** Read up to `length` bytes at `position`. Fewer is not the end of the file; none is. */
  async read(handle: SftpHandle, position: number, length: number, signal?: AbortSignal): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length)
    return buffer.subarray(0, await this.readInto(buffer, handle, position, signal))
  }

  /**
   * As `read`, into memory of the caller's, which may be written to until there is an answer, even if nobody
   * waits for it any more. No more than `longest.read` bytes come at once.
   * @returns how many bytes came.
   */
  async readInto(into: Buffer, handle: SftpHandle, position: number, signal?: AbortSignal): Promise<number> {
    if (into.length === 0) return 0
    const start = (done: Callback<number>): void => this.#bulk.read(handle, position, into, done)
    return this.#request<number>('read', 'reads', signal, start, 'bulk')
  }

  /** `data` must not change until it is written. More than `longest.write` bytes are sent one after the other. */
  async write(handle: SftpHandle, position: number, data: Buffer, signal?: AbortSignal): Promise<void> {
    for (let from = 0; from < data.length; from += this.longest.write) {
      const piece = data.subarray(from, from + this.longest.write)
      const start = (done: Callback<number>): void => this.#bulk.write(handle, position + from, piece, done)
      await this.#request<number>('write', 'changes', signal, start, 'bulk')
    }
  }

  fstat(handle: SftpHandle, signal?: AbortSignal): Promise<FileAttributes> {
    return this.#request<Stats>(
      'fstat',
      'reads',
      signal,
      (done) => this.#sftp.fstat(handle, done),
      'bulk',
    ).then(attributesOf)
  }

  setMode(handle: SftpHandle, mode: number, signal?: AbortSignal): Promise<void> {
    return this.#change('chmod', signal, (done) => this.#sftp.fchmod(handle, mode, done), 'bulk')
  }

  setOwner(handle: SftpHandle, uid: number, gid: number, signal?: AbortSignal): Promise<void> {
    const owner = { uid, gid } as InputAttributes
    return this.#change('chown', signal, (done) => this.#sftp.fsetstat(handle, owner, done), 'bulk')
  }

  /** Force the file's data to the disk. @throws SftpStatusError `unsupported` where the server cannot. */
  fsync(handle: SftpHandle, signal?: AbortSignal): Promise<void> {
    return this.#change(
      'fsync',
      signal,
      (done) => this.#sftp.ext_openssh_fsync(handle, (error) => done(error)),
      'disk',
    )
  }

  close(handle: SftpHandle): Promise<void> {
    return this.#change('close', undefined, (done) => this.#sftp.close(handle, done), 'disk')
  }

  openFolder(path: string, signal?: AbortSignal): Promise<SftpHandle> {
    return this.#request<Buffer>('opendir', 'reads', signal, (done) =>
      this.#sftp.opendir(forLibrary(path), done),
    ).then(asHandle)
  }

  /** The next batch of a folder's entries, in the server's order; undefined at the end. */
  async readFolder(handle: SftpHandle, signal?: AbortSignal): Promise<SftpEntry[] | undefined> {
    try {
      const batch = await this.#request<FileEntryWithStats[]>('readdir', 'reads', signal, (done) =>
        this.#sftp.readdir(handle, done),
      )
      return batch.map((entry) => ({
        name: fromLibrary(entry.filename),
        attributes: attributesOf(entry.attrs),
      }))
    } catch (error) {
      if (error instanceof SftpStatusError && error.status === 'eof') return undefined
      throw error
    }
  }

  makeFolder(path: string, mode?: number, signal?: AbortSignal): Promise<void> {
    const attributes: InputAttributes = mode === undefined ? {} : ({ mode } as InputAttributes)
    return this.#change('mkdir', signal, (done) => this.#sftp.mkdir(forLibrary(path), attributes, done))
  }

  removeFolder(path: string, signal?: AbortSignal): Promise<void> {
    return this.#change('rmdir', signal, (done) => this.#sftp.rmdir(forLibrary(path), done))
  }

  removeFile(path: string, signal?: AbortSignal): Promise<void> {
    return this.#change('remove', signal, (done) => this.#sftp.unlink(forLibrary(path), done))
  }

  /** Rename; version 3 refuses when `to` exists. */
  rename(from: string, to: string, signal?: AbortSignal): Promise<void> {
    return this.#change('rename', signal, (done) => this.#sftp.rename(forLibrary(from), forLibrary(to), done))
  }

  /** Rename over an existing file in one step. @throws SftpStatusError `unsupported` where the server cannot. */
  renameOver(from: string, to: string, signal?: AbortSignal): Promise<void> {
    return this.#change('rename over', signal, (done) =>
      this.#sftp.ext_openssh_rename(forLibrary(from), forLibrary(to), done),
    )
  }

  /** A second name for a file; refused when `to` exists. @throws SftpStatusError `unsupported`. */
  hardLink(from: string, to: string, signal?: AbortSignal): Promise<void> {
    return this.#change('link', signal, (done) =>
      this.#sftp.ext_openssh_hardlink(forLibrary(from), forLibrary(to), done),
    )
  }

  /** What the file system of a path has left. @throws SftpStatusError `unsupported` where the server cannot tell. */
  async volume(path: string, signal?: AbortSignal): Promise<Volume> {
    const answer = await this.#request<Readonly<Record<string, unknown>>>(
      'statvfs',
      'reads',
      signal,
      (done) =>
        // The library's types say nothing of the answer; its fields are those of statvfs(3).
        this.#sftp.ext_openssh_statvfs(forLibrary(path), done as never),
    )
    const number = (name: string): number => Number(answer[name] ?? Number.NaN)
    return {
      freeBlocks: number('f_bavail'),
      freeFiles: number('f_favail'),
      files: number('f_files'),
      readOnly: (number('f_flag') & READ_ONLY_FLAG) !== 0,
    }
  }

  /** Close the channel; what waits for an answer on it fails. */
  end(): void {
    this.#closed = true
    this.#sftp.end()
  }

  #ask<T>(
    operation: string,
    signal: AbortSignal | undefined,
    start: (done: Callback<T>) => void,
  ): Promise<T> {
    return this.#request<T>(operation, 'reads', signal, start, 'small')
  }

  #change(
    operation: string,
    signal: AbortSignal | undefined,
    start: (done: (error?: Error | null) => void) => void,
    weight: Weight = 'plain',
  ): Promise<void> {
    return this.#request<void>(
      operation,
      'changes',
      signal,
      (done) => start((error) => done(error, undefined)),
      weight,
    )
  }

  async #request<T>(
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
        {
          afterMs: deadlineMs,
          moreMs: () => {
            if (weight !== 'bulk' && weight !== 'disk') return 0
            // It may as well be the line that is dead: that need not take as long as a disk may.
            if (weight === 'disk') void this.#owner.suspect(deadlineMs)
            const leftMs = patienceMs - (performance.now() - Math.max(began, this.#lastAnswer))
            return Math.min(deadlineMs, leftMs)
          },
          error: () => this.#freeze(operation, effect, patienceMs),
        },
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

/** Every field is optional in version 3. */
function attributesOf(stats: Partial<Stats> | FileEntryWithStats['attrs']): FileAttributes {
  const { mode = 0, uid = 0, gid = 0, size = 0, mtime = 0 } = stats as Partial<Stats>
  return { mode, uid, gid, size, mtime }
}

function asHandle(handle: Buffer): SftpHandle {
  return handle as SftpHandle
}
