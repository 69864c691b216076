/** Runs one of the search scripts on a machine and gives its frames as they come. */
import { CancelledError } from '../../../base/failure.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { Machine } from '../../machine.ts'
import { RemoteProcess } from '../../process/remote-process.ts'
import { randomMark } from '../../shell/marked.ts'
import { FrameReader, type Frame } from './frames.ts'
import { SearchRefusal } from './refusal.ts'
import { GENTLY } from './scripts.ts'

export interface Question {
  readonly script: string
  /** Its arguments after the marker. */
  readonly args: readonly string[]
  readonly input?: Buffer
  /** The longest frame in bytes. */
  readonly longestFrame: number
}

const GRACE_MS = 1000

/** Where a search takes place, and for how long it may. */
export class Asking {
  readonly #machine: Machine
  readonly #folder: RemotePath
  readonly #signal: AbortSignal

  constructor(machine: Machine, folder: RemotePath, signal: AbortSignal) {
    this.#machine = machine
    this.#folder = folder
    this.#signal = signal
  }

  get signal(): AbortSignal {
    return this.#signal
  }

  /**
   * @throws SearchRefusal when the machine lacks what the script needs, CancelledError, StartError,
   * LinkLostError.
   */
  async *frames({ script, args, input, longestFrame }: Question): AsyncGenerator<Frame> {
    this.#signal.throwIfAborted()
    const mark = randomMark()
    const process = new RemoteProcess(
      this.#machine,
      {
        argv: ['/bin/sh', '-c', GENTLY, 'presence', script, 'presence', mark, ...args],
        folder: this.#folder,
        env: {},
        input: input === undefined ? 'none' : { data: input },
        graceMs: GRACE_MS,
        onlyReads: true,
      },
      (_session, request) => request,
    )
    const abort = (): void => process.terminate()
    this.#signal.addEventListener('abort', abort, { once: true })
    process.stderr.resume()
    const reader = new FrameReader(mark, longestFrame)
    let ended = false
    try {
      for await (const chunk of process.stdout as AsyncIterable<Buffer>) {
        for (const frame of reader.push(chunk)) yield frame
      }
      for (const frame of reader.end()) {
        ended = frame.kind === 'end'
        yield frame
      }
      await process.done
    } finally {
      this.#signal.removeEventListener('abort', abort)
      // Whoever has heard enough, or failed, leaves nothing running.
      if (!ended) process.terminate()
    }
    if (this.#signal.aborted) throw new CancelledError('the search', this.#signal.reason)
    if (!ended) throw new SearchRefusal('the search broke off on the machine before it was done')
  }
}
