/** The open files and folders of one SFTP session, by the handle the client was given. */
import type { FileHandle } from 'node:fs/promises'
import { STATUS, StatusError } from './status.ts'
import { uint32 } from './wire.ts'

export interface OpenFile {
  readonly kind: 'file'
  readonly file: FileHandle
}

export interface OpenFolder {
  readonly kind: 'folder'
  readonly path: Buffer
  /** Names that have not been listed yet. */
  readonly names: Buffer[]
}

export class OpenHandles {
  readonly #open = new Map<number, OpenFile | OpenFolder>()
  /** Closed and not given again, in the order of their closing. */
  readonly #closed: number[] = []
  readonly #choose: (closed: readonly number[]) => number | undefined
  #next = 0

  /** @param choose - a number that no open handle has; undefined: one that was never given. */
  constructor(choose: (closed: readonly number[]) => number | undefined = () => undefined) {
    this.#choose = choose
  }

  add(opened: OpenFile | OpenFolder): Buffer {
    const id = this.#choose(this.#closed) ?? this.#next++
    const again = this.#closed.indexOf(id)
    if (again >= 0) this.#closed.splice(again, 1)
    this.#open.set(id, opened)
    return uint32(id)
  }

  /** @throws StatusError with the status OpenSSH has for a handle of another kind or of nobody. */
  file(handle: Buffer): FileHandle {
    const found = this.#find(handle)
    if (found?.kind !== 'file') throw new StatusError(STATUS.failure)
    return found.file
  }

  folder(handle: Buffer): OpenFolder {
    const found = this.#find(handle)
    if (found?.kind !== 'folder') throw new StatusError(STATUS.failure)
    return found
  }

  async close(handle: Buffer): Promise<void> {
    const found = this.#find(handle)
    if (found === undefined) throw new StatusError(STATUS.noSuchFile)
    this.#open.delete(handle.readUInt32BE(0))
    this.#closed.push(handle.readUInt32BE(0))
    if (found.kind === 'file') await found.file.close()
  }

  async closeAll(): Promise<void> {
    const files = [...this.#open.values()].flatMap((opened) => (opened.kind === 'file' ? [opened.file] : []))
    this.#open.clear()
    await Promise.all(files.map((file) => file.close()))
  }

  #find(handle: Buffer): OpenFile | OpenFolder | undefined {
    return handle.length === 4 ? this.#open.get(handle.readUInt32BE(0)) : undefined
  }
}
