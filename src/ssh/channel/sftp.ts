/**
 * SFTP version 3 on one channel, operation by operation. Several may be in flight at once; callers compose them into
 * flights. Knows the protocol, not what a file means; how a request waits and fails is `sftp-requests.ts`.
 */
import type { FileEntryWithStats, InputAttributes, SFTPWrapper, Stats } from 'ssh2'
import { SftpStatusError } from '../errors.ts'
import type { BulkRequests } from './bulk-requests.ts'
import type { Owner } from './exec.ts'
import { ForetoldHandles } from './foretold-handle.ts'
import { forLibrary, fromLibrary } from './name-bytes.ts'
import type { Conversation, Extensions, Offer } from './sftp-protocol.ts'
import { SftpRequests, type Callback, type Effect, type Weight } from './sftp-requests.ts'

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

/** An open that was sent. */
export interface Opened {
  readonly opened: Promise<SftpHandle>
  /** The handle that it will answer with, if that is foretold; only what is read by it may be read before. */
  readonly foretold: SftpHandle | undefined
}

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
  readonly #requests: SftpRequests
  readonly #handles: ForetoldHandles

  constructor({ sftp, bulk }: Conversation, owner: Owner, offer: Offer, way: SftpWay) {
    this.#sftp = sftp
    this.#bulk = bulk
    this.#requests = new SftpRequests(sftp, owner)
    this.#handles = new ForetoldHandles(offer.bearsGuesses)
    this.extensions = offer.extensions
    this.longest = offer.longest
    this.way = way
  }

  get usable(): boolean {
    return this.#requests.usable
  }

  get machine(): string {
    return this.#requests.machine
  }

  /** Requests without an answer yet. */
  get pending(): number {
    return this.#requests.pending
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
    return this.beginReading(path, signal).opened
  }

  /** As `openForReading`, for who reads before the open is answered. */
  beginReading(path: string, signal?: AbortSignal): Opened {
    return this.#open('open', 'reads', signal, (done) => this.#sftp.open(forLibrary(path), 'r', done))
  }

  /** Create a file that must not exist yet; `mode` is subject to the server's umask. */
  createExclusively(path: string, mode: number, signal?: AbortSignal): Promise<SftpHandle> {
    return this.#open('create', 'changes', signal, (done) =>
      this.#sftp.open(forLibrary(path), 'wx', mode, done),
    ).opened
  }

  /** Open an existing file to overwrite it in place; its old content is cut off. */
  openForOverwriting(path: string, signal?: AbortSignal): Promise<SftpHandle> {
    return this.#open('open for writing', 'changes', signal, (done) =>
      this.#sftp.open(forLibrary(path), 'w', done),
    ).opened
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
    return this.#requests.request<number>('read', 'reads', signal, start, 'bulk')
  }

  /** `data` must not change until it is written. More than `longest.write` bytes are sent one after the other. */
  async write(handle: SftpHandle, position: number, data: Buffer, signal?: AbortSignal): Promise<void> {
    for (let from = 0; from < data.length; from += this.longest.write) {
      const piece = data.subarray(from, from + this.longest.write)
      const start = (done: Callback<number>): void => this.#bulk.write(handle, position + from, piece, done)
      await this.#requests.request<number>('write', 'changes', signal, start, 'bulk')
    }
  }

  fstat(handle: SftpHandle, signal?: AbortSignal): Promise<FileAttributes> {
    return this.#requests
      .request<Stats>('fstat', 'reads', signal, (done) => this.#sftp.fstat(handle, done), 'bulk')
      .then(attributesOf)
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
    const start = (done: (error?: Error | null) => void): void => {
      this.#handles.closing(handle)
      this.#sftp.close(handle, done)
    }
    return this.#change('close', undefined, start, 'disk')
  }

  openFolder(path: string, signal?: AbortSignal): Promise<SftpHandle> {
    return this.#open('opendir', 'reads', signal, (done) => this.#sftp.opendir(forLibrary(path), done)).opened
  }

  /** The next batch of a folder's entries, in the server's order; undefined at the end. */
  async readFolder(handle: SftpHandle, signal?: AbortSignal): Promise<SftpEntry[] | undefined> {
    try {
      const batch = await this.#requests.request<FileEntryWithStats[]>('readdir', 'reads', signal, (done) =>
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
    const answer = await this.#requests.request<Readonly<Record<string, unknown>>>(
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
    this.#requests.end()
  }

  /** What is opened behind the back of a caller who has left is closed again. */
  #open(
    operation: string,
    effect: Effect,
    signal: AbortSignal | undefined,
    start: (done: Callback<Buffer>) => void,
  ): Opened {
    let foretold: Buffer | undefined
    let given: Buffer | undefined
    let left = false
    const drop = (): void => {
      if (given === undefined || !left) return
      this.close(asHandle(given)).catch((_onlyTheHandleIsLost: unknown) => undefined)
    }
    const opened = this.#requests.request<Buffer>(operation, effect, signal, (done) => {
      const opening = this.#handles.opening()
      foretold = opening.foretold
      start((error, handle) => {
        given = error === undefined || error === null ? handle : undefined
        opening.answered(given)
        drop()
        done(error, handle)
      })
    })
    opened.catch((_toldToTheCaller: unknown) => {
      left = true
      drop()
    })
    return { opened: opened.then(asHandle), foretold: foretold && asHandle(foretold) }
  }

  #ask<T>(
    operation: string,
    signal: AbortSignal | undefined,
    start: (done: Callback<T>) => void,
  ): Promise<T> {
    return this.#requests.request<T>(operation, 'reads', signal, start, 'small')
  }

  #change(
    operation: string,
    signal: AbortSignal | undefined,
    start: (done: (error?: Error | null) => void) => void,
    weight: Weight = 'plain',
  ): Promise<void> {
    return this.#requests.request<void>(
      operation,
      'changes',
      signal,
      (done) => start((error) => done(error, undefined)),
      weight,
    )
  }
}

/** Every field is optional in version 3. */
function attributesOf(stats: Partial<Stats> | FileEntryWithStats['attrs']): FileAttributes {
  const { mode = 0, uid = 0, gid = 0, size = 0, mtime = 0 } = stats as Partial<Stats>
  return { mode, uid, gid, size, mtime }
}

function asHandle(handle: Buffer): SftpHandle {
  return handle as SftpHandle
}
