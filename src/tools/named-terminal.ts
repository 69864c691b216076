/** One terminal of an agent between its calls: what is unread, and waiting for more. */
import { CancelledError, messageOf } from '../base/failure.ts'
import type { Place } from '../places/place.ts'
import type { SandboxMode } from '@deepseek-ai/dsh-sandbox'
import type { RemoteTerminal } from '../remote/process/terminal.ts'
import { CursorKeyMode, type TerminalKey } from './terminal-keys.ts'
import { TerminalText } from './terminal-text.ts'

/** Characters kept for a terminal that nobody reads. */
const UNREAD_CHARACTERS = 256 * 1024
/** No more bytes than this are taken in a span: a program that floods its terminal has to wait, as at a real one. */
const MOST_BYTES = 512 * 1024
const SPAN_MS = 100
/** What came is looked at so much later. */
const WAKE_MS = 10

export interface ReadUntil {
  /** Stop as soon as this text has come. */
  readonly marker: string | undefined
  /** Stop when something came and then nothing for so many milliseconds. */
  readonly quietMs: number
  /** Stop in any case after so many milliseconds. */
  readonly timeoutMs: number
}

/** Why a read ended. */
export type ReadEnd = 'marker' | 'quiet' | 'timeout' | 'ended'

export class NamedTerminal {
  readonly name: string
  readonly place: Place
  readonly command: string
  /** The mode it was started under: what is typed into it acts under that mode. */
  readonly mode: SandboxMode
  readonly remote: RemoteTerminal
  readonly #text = new TerminalText(UNREAD_CHARACTERS)
  readonly #keys = new CursorKeyMode()
  readonly #heard = new Set<() => void>()
  #end: string | undefined
  #waking: NodeJS.Timeout | undefined
  #spanBegan = 0
  #bytesInSpan = 0

  constructor(name: string, place: Place, command: string, mode: SandboxMode, remote: RemoteTerminal) {
    this.name = name
    this.place = place
    this.command = command
    this.mode = mode
    this.remote = remote
    remote.output.on('data', (chunk: Buffer) => {
      this.#text.push(chunk)
      this.#keys.push(chunk)
      this.#wake()
      this.#slow(chunk.length)
    })
    remote.done.then(
      ({ exitCode, signal }) =>
        this.#finish(signal === null ? `ended with exit code ${String(exitCode)}` : `ended by ${signal}`),
      (error: unknown) => this.#finish(`lost: ${messageOf(error)}`),
    )
  }

  /** How it ended; undefined while it runs. */
  get end(): string | undefined {
    return this.#end
  }

  /** Type text, then press a key. @throws StartError when the program has ended. */
  type(text: string, key: TerminalKey): Promise<void> {
    return this.remote.write(this.#keys.typed(text, key))
  }

  /**
   * What came since the last read, waiting for more as told.
   * @throws CancelledError when the caller gives up; nothing that came is lost then.
   */
  async read(
    until: ReadUntil,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly dropped: number; readonly why: ReadEnd }> {
    const why = await this.#wait(until, signal)
    return { ...this.#text.take(), why }
  }

  #wait(until: ReadUntil, signal: AbortSignal): Promise<ReadEnd> {
    return new Promise((resolve, reject) => {
      let quiet: NodeJS.Timeout | undefined
      const settle = (act: () => void): void => {
        clearTimeout(quiet)
        clearTimeout(timeout)
        this.#heard.delete(look)
        signal.removeEventListener('abort', abandon)
        act()
      }
      const stop = (why: ReadEnd): void => settle(() => resolve(why))
      const abandon = (): void =>
        settle(() => reject(new CancelledError('waiting for the terminal', signal.reason)))
      const look = (): void => {
        if (until.marker !== undefined && this.#text.peek().includes(until.marker)) return stop('marker')
        if (this.#end !== undefined) return stop('ended')
        if (until.marker !== undefined || this.#text.isEmpty) return
        clearTimeout(quiet)
        quiet = setTimeout(() => stop('quiet'), until.quietMs)
      }
      const timeout = setTimeout(() => stop('timeout'), until.timeoutMs)
      if (signal.aborted) return abandon()
      signal.addEventListener('abort', abandon, { once: true })
      this.#heard.add(look)
      look()
    })
  }

  #slow(bytes: number): void {
    const now = performance.now()
    if (now - this.#spanBegan > SPAN_MS) {
      this.#spanBegan = now
      this.#bytesInSpan = 0
    }
    this.#bytesInSpan += bytes
    if (this.#bytesInSpan < MOST_BYTES) return
    const { output } = this.remote
    output.pause()
    setTimeout(() => output.resume(), this.#spanBegan + SPAN_MS - now).unref()
  }

  #finish(end: string): void {
    this.#end = end
    this.#wake()
  }

  /** Tell those who wait, at most once in a while: chunks are small and may be many. */
  #wake(): void {
    this.#waking ??= setTimeout(() => {
      this.#waking = undefined
      for (const look of [...this.#heard]) look()
    }, WAKE_MS)
  }
}
