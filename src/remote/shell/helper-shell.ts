/**
 * One long-lived POSIX shell on a machine for short questions (a stat, a kill): one round trip each,
 * without a channel or the user's login scripts. Questions are answered one after the other, so
 * nothing that may block belongs here.
 */
import { messageOf } from '../../base/failure.ts'
import { bytesOfText } from '../../base/name-bytes.ts'
import { race, callerLeaves } from '../../base/race.ts'
import type { ExecChannel } from '../../ssh/channel/exec.ts'
import { suspectedAfter } from '../../ssh/channel/patience.ts'
import type { Exec } from '../../ssh/connection/link.ts'
import { LinkLostError } from '../../ssh/errors.ts'
import { oneLine, startScript, type LoginShell } from './command-line.ts'
import { MarkedStream, randomMark } from './marked.ts'
import { openScript } from './open-script.ts'
import { helperScript } from './scripts.ts'

const ANSWER_MS = 15_000
/** How often it is looked whether a question is without one. */
const LOOK_MS = 500
/** A status and the character behind it, in bytes. */
const LONGEST_STATUS = 4

export interface HelperAnswer {
  readonly status: number
  readonly output: Buffer
}

export interface HelperQuestion {
  readonly signal?: AbortSignal | undefined
  /** What the script reads on descriptor 3. */
  readonly content?: Buffer
  /** It changes something: a lost answer then has an unknown outcome. */
  readonly changes?: boolean
}

export class HelperShell {
  readonly #channel: ExecChannel
  readonly #machine: string
  readonly #end: Buffer
  readonly #key: string
  readonly #waiting: ((answer: HelperAnswer) => void)[] = []
  readonly #gone = new AbortController()
  /** What has come and holds no whole answer, in pieces. */
  #parts: Buffer[] = []
  /** The last of it, in which an end may have begun. */
  #tail: Buffer = Buffer.alloc(0)
  #heardAt = 0

  /** @param functions - shell text with what the questions use. @throws ChannelError, LinkLostError. */
  static async open(
    exec: Exec,
    loginShell: LoginShell,
    functions: string,
    signal?: AbortSignal,
  ): Promise<HelperShell> {
    const [mark, key] = [randomMark(), randomMark()]
    const start = startScript(helperScript(functions), [mark, key], loginShell)
    let helper: HelperShell | undefined
    const yields = (): void => helper?.closeIfIdle()
    const channel = await openScript(exec, start, { signal, lasting: true, idles: true, yields })
    helper = new HelperShell(channel, mark, key)
    return helper
  }

  private constructor(channel: ExecChannel, mark: string, key: string) {
    const { machine } = channel.owner
    this.#channel = channel
    this.#machine = machine
    this.#end = Buffer.from(`\u001e${mark}`)
    this.#key = key
    const stream = new MarkedStream(
      mark,
      () => undefined,
      (chunk) => this.#receive(chunk),
    )
    channel.stdout.on('data', (chunk: Buffer) => stream.push(chunk))
    channel.stderr.resume()
    void channel.closed.then(() => {
      this.#gone.abort(new LinkLostError('the helper shell ended', { machine }))
    })
  }

  get usable(): boolean {
    return !this.#gone.signal.aborted
  }

  /**
   * Run a script that ends soon; its standard error is dropped, its standard input is empty.
   * @throws LinkLostError; CancelledError.
   */
  async run(
    script: string,
    { signal, content, changes = false }: HelperQuestion = {},
  ): Promise<HelperAnswer> {
    let verdict: Promise<void> | undefined
    const lost = (message: string, cause?: unknown): LinkLostError =>
      new LinkLostError(message, { machine: this.#machine, outcomeUnknown: changes, cause })
    const asked = performance.now()
    const silent = new AbortController()
    // A long answer takes as long as it takes to come.
    const timer = setInterval(() => {
      const silentMs = performance.now() - Math.max(asked, this.#heardAt)
      if (silentMs > ANSWER_MS) silent.abort()
      else if (silentMs > suspectedAfter(ANSWER_MS))
        void this.#channel.owner.suspect(suspectedAfter(ANSWER_MS))
    }, LOOK_MS)
    return race(
      () =>
        new Promise<HelperAnswer>((resolve) => {
          this.#waiting.push(resolve)
          // An empty line first: what is left of an earlier content ends there.
          const line = `\n${this.#key}${oneLine(script)}; printf '\\036%s%s\\036' "$m" "$?"\n`
          this.#channel.stdin.write(Buffer.concat([bytesOfText(line), content ?? Buffer.alloc(0)]))
        }),
      [
        ...callerLeaves(signal, `a question to ${this.#machine}`),
        {
          signal: this.#gone.signal,
          error: (reason) => {
            const { dead } = this.#channel.owner
            return dead.aborted
              ? lost(`the connection was lost during a question (${messageOf(dead.reason)})`, dead.reason)
              : lost(`the helper shell ended during a question: ${messageOf(reason)}`, reason)
          },
        },
        {
          signal: silent.signal,
          error: () => {
            // Later answers would be taken for earlier ones: this shell is of no more use.
            this.close()
            verdict = this.#channel.owner.suspect(ANSWER_MS)
            return lost(`no answer within ${ANSWER_MS / 1000} s`)
          },
        },
      ],
    )
      .catch(async (error: unknown) => {
        await verdict
        throw error
      })
      .finally(() => clearInterval(timer))
  }

  /** Another one is opened when it is needed. */
  closeIfIdle(): void {
    if (this.#waiting.length === 0) this.close()
  }

  close(): void {
    this.#gone.abort(new LinkLostError('the helper shell was closed', { machine: this.#machine }))
    this.#channel.close()
  }

  #receive(chunk: Buffer): void {
    this.#heardAt = performance.now()
    this.#parts.push(chunk)
    const window = Buffer.concat([this.#tail, chunk])
    if (this.#endIn(window, 0) === undefined) {
      this.#tail = window.subarray(-(this.#end.length + LONGEST_STATUS))
      return
    }
    let rest = Buffer.concat(this.#parts)
    for (let end = this.#endIn(rest, 0); end !== undefined; end = this.#endIn(rest, 0)) {
      const { at, stop, status } = end
      this.#waiting.shift()?.({ status, output: rest.subarray(0, at) })
      rest = rest.subarray(stop + 1)
    }
    this.#parts = [rest]
    this.#tail = rest.subarray(-(this.#end.length + LONGEST_STATUS))
  }

  /** Where an answer ends, and its status; undefined when it does not end there, or not yet. */
  #endIn(bytes: Buffer, from: number): { at: number; stop: number; status: number } | undefined {
    const at = bytes.indexOf(this.#end, from)
    const stop = at < 0 ? -1 : bytes.indexOf(0x1e, at + this.#end.length)
    if (stop < 0) return undefined
    return { at, stop, status: Number(bytes.toString('latin1', at + this.#end.length, stop)) }
  }
}
