/**
 * A file that is opened and read in one flight where its handle is foretold. Nothing that was read by a foretold
 * handle counts before the open has answered with the same one: it is thrown away and read anew with the true one
 * otherwise. Only reads are sent on a guess, as they change nothing, whatever they are a handle of.
 */
import type { FileAttributes, Opened, SftpChannel, SftpHandle } from '../../../ssh/channel/sftp.ts'

export class ReadingFile {
  readonly #sftp: SftpChannel
  readonly #opened: Promise<SftpHandle>
  readonly #foretold: SftpHandle | undefined
  /** Once the open has answered. */
  #handle: SftpHandle | undefined

  constructor(sftp: SftpChannel, { opened, foretold }: Opened) {
    this.#sftp = sftp
    this.#opened = opened
    this.#foretold = foretold
    opened.then(
      (handle) => (this.#handle = handle),
      (_thrownToEachReader: unknown) => undefined,
    )
  }

  /** Until a read can be sent. @throws what the open has failed with. */
  async readable(): Promise<void> {
    if (this.#foretold === undefined) await this.#opened
  }

  /** As `SftpChannel.readInto`. @throws also what the open has failed with. */
  async readInto(into: Buffer, position: number, signal?: AbortSignal): Promise<number> {
    const foretold = this.#foretold
    if (foretold === undefined || this.#handle !== undefined) {
      return this.#sftp.readInto(into, await this.#opened, position, signal)
    }
    const early = this.#sftp.readInto(into, foretold, position, signal)
    early.catch((_countsOnlyByTheRightHandle: unknown) => undefined)
    const handle = await this.#opened
    if (handle.equals(foretold)) return early
    // Until it is answered, what it read may still be put where the right bytes go.
    await Promise.allSettled([early])
    return this.#sftp.readInto(into, handle, position, signal)
  }

  async fstat(signal?: AbortSignal): Promise<FileAttributes> {
    return this.#sftp.fstat(await this.#opened, signal)
  }

  /** Nothing waits for the close of a file that was only read; a failure of it changes nothing. */
  close(): void {
    this.#opened.then(
      (handle) => this.#sftp.close(handle).catch((_onlyTheHandleIsLost: unknown) => undefined),
      (_nothingWasOpened: unknown) => undefined,
    )
  }
}
