/**
 * One long-lived POSIX shell on a machine for short questions (a stat, a kill): one round trip each,
 * without a channel or the user's login scripts. Questions are answered one after the other, so
 * nothing that may block belongs here.
 */
import { race, callerLeaves } from '../../base/race.ts'
import type { ExecChannel } from '../../ssh/channel/exec.ts'
import type { Exec } from '../../ssh/connection/link.ts'
import { LinkLostError } from '../../ssh/errors.ts'
import { oneLine, startScript, type LoginShell } from './command-line.ts'
import { MarkedStream, randomMark } from './marked.ts'
import { HELPER } from './scripts.ts'

const ANSWER_MS = 15_000

export interface HelperAnswer {
  readonly status: number
  readonly output: Buffer
}

export class HelperShell {
  readonly #channel: ExecChannel
  readonly #machine: string
  readonly #mark: string
  readonly #waiting: ((answer: HelperAnswer) => void)[] = []
  readonly #gone = new AbortController()
  #buffered: Buffer = Buffer.alloc(0)

  /** @throws ChannelError, LinkLostError. */
  static async open(exec: Exec, loginShell: LoginShell, signal?: AbortSignal): Promise<HelperShell> {
    const mark = randomMark()
    const start = startScript(HELPER, [mark], loginShell)
    let helper: HelperShell | undefined
    const yields = (): void => helper?.closeIfIdle()
    const channel = await exec(start.commandLine, { signal, lasting: true, idles: true, yields })
    if (start.preamble !== '') channel.stdin.write(start.preamble)
    helper = new HelperShell(channel, mark)
    return helper
  }

  private constructor(channel: ExecChannel, mark: string) {
    const { machine } = channel.owner
    this.#channel = channel
    this.#machine = machine
    this.#mark = mark
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

  /** Run a script that ends soon; its standard error is dropped, its standard input is empty. */
  async run(script: string, signal?: AbortSignal): Promise<HelperAnswer> {
    let verdict: Promise<void> | undefined
    return race(
      () =>
        new Promise<HelperAnswer>((resolve) => {
          this.#waiting.push(resolve)
          this.#channel.stdin.write(`${oneLine(script)}; printf '\\036%s%s\\036' "$m" "$?"\n`)
        }),
      [
        ...callerLeaves(signal, `a question to ${this.#machine}`),
        { signal: this.#gone.signal, error: (reason) => reason as Error },
      ],
      {
        afterMs: ANSWER_MS,
        error: () => {
          // Later answers would be taken for earlier ones: this shell is of no more use.
          this.close()
          verdict = this.#channel.owner.suspect(ANSWER_MS)
          return new LinkLostError(`no answer within ${ANSWER_MS / 1000} s`, { machine: this.#machine })
        },
      },
    ).catch(async (error: unknown) => {
      await verdict
      throw error
    })
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
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk])
    const end = Buffer.from(`\u001e${this.#mark}`)
    for (;;) {
      const at = this.#buffered.indexOf(end)
      const stop = at < 0 ? -1 : this.#buffered.indexOf(0x1e, at + end.length)
      if (stop < 0) return
      const status = Number(this.#buffered.toString('latin1', at + end.length, stop))
      const output = this.#buffered.subarray(0, at)
      this.#buffered = this.#buffered.subarray(stop + 1)
      this.#waiting.shift()?.({ status, output })
    }
  }
}
