/**
 * The clock of one connection attempt: each stage has a deadline of its own, and the clock stops while
 * a person is asked, however long the person thinks.
 */
import { ConnectError, type SshErrorCode, type Stage } from '../errors.ts'

const WORDS: Readonly<Record<Stage, string>> = {
  config: 'reading the configuration',
  dns: 'resolving the host name',
  tcp: 'connecting over TCP',
  proxy: 'connecting through the proxy',
  banner: "waiting for the server's SSH identification",
  'key-exchange': 'exchanging keys',
  'host-key': 'verifying the host key',
  auth: 'authenticating',
  probe: 'probing the machine',
  ready: 'waiting',
}

export class StageClock {
  readonly #machine: string
  readonly #limitMs: number
  readonly #onStage: (stage: Stage) => void
  readonly #expired = new AbortController()
  readonly #started = performance.now()
  readonly #times: { stage: Stage; ms: number }[] = []
  #stage: Stage = 'config'
  #stageBegan = performance.now()
  #timer: NodeJS.Timeout | undefined
  #asking = 0
  #stopped = false

  /** `limitMs` bounds each stage, not the whole attempt. */
  constructor(machine: string, limitMs: number, onStage: (stage: Stage) => void) {
    this.#machine = machine
    this.#limitMs = limitMs
    this.#onStage = onStage
    this.#arm()
  }

  /** Aborted with a `ConnectError` when a stage takes too long. */
  get expired(): AbortSignal {
    return this.#expired.signal
  }

  get stage(): Stage {
    return this.#stage
  }

  /** Milliseconds each finished stage took, questions included. */
  get times(): readonly { readonly stage: Stage; readonly ms: number }[] {
    return this.#times
  }

  get elapsedMs(): number {
    return performance.now() - this.#started
  }

  /** Once stopped, the attempt is over and nothing more is told of it: keys are exchanged later too. */
  enter(stage: Stage): void {
    if (stage === this.#stage || this.#stopped) return
    this.#times.push({ stage: this.#stage, ms: performance.now() - this.#stageBegan })
    this.#stage = stage
    this.#stageBegan = performance.now()
    this.#onStage(stage)
    this.#arm()
  }

  /** A stage that was over before this clock began. */
  add(stage: Stage, ms: number): void {
    this.#times.push({ stage, ms })
  }

  /** Run a question with the clock stopped; the stage's full time is given back afterwards. */
  async asking<T>(ask: () => Promise<T>): Promise<T> {
    this.#asking += 1
    clearTimeout(this.#timer)
    try {
      return await ask()
    } finally {
      this.#asking -= 1
      this.#arm()
    }
  }

  stop(): void {
    if (this.#stopped) return
    clearTimeout(this.#timer)
    this.#times.push({ stage: this.#stage, ms: performance.now() - this.#stageBegan })
    this.#stopped = true
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#asking > 0 || this.#stopped) return
    this.#timer = setTimeout(() => {
      const code: SshErrorCode = 'connect-timeout'
      const seconds = Math.round(this.#limitMs / 1000)
      this.#expired.abort(
        new ConnectError(`no answer within ${seconds} s while ${WORDS[this.#stage]}`, code, {
          machine: this.#machine,
          stage: this.#stage,
        }),
      )
    }, this.#limitMs)
  }
}
