/**
 * The connection to one machine over time: at most one live link, made when it is needed, forgotten
 * when it dies, made anew at the next use. State is a closed union; listeners hear every change.
 */
import { Emitter } from '../../base/emitter.ts'
import { CancelledError, messageOf } from '../../base/failure.ts'
import { SharedAttempt } from '../../base/shared-attempt.ts'
import type { ExecChannel } from '../channel/exec.ts'
import { ConnectError, type Stage } from '../errors.ts'
import { NOBODY, type Question } from '../questions.ts'
import { connectOnce, type ConnectDependencies, type Progress } from './attempt.ts'
import type { ExecOptions, Link } from './link.ts'
import { SpareLinks } from './spare-links.ts'

/**
 * How much a caller wants an attempt. `now`: in any case. `when-due`: only when one is due. `since`: unless one
 * has failed after that moment of `performance.now()`, for somebody who asks several times for one purpose.
 */
export type Hurry = 'now' | 'when-due' | { readonly since: number }

interface Failure {
  readonly error: unknown
  /** When it was known, and until when those in no hurry are answered with it, by `performance.now()`. */
  readonly at: number
  readonly until: number
}

const LONGEST_REST_MS = 30_000

export type ConnectionState =
  | { readonly kind: 'idle' }
  /** `hop`: the jump host that it is about, when it is not the machine itself. */
  | { readonly kind: 'connecting'; readonly stage: Stage; readonly hop: string | undefined }
  /** A person is asked; the attempt waits for as long as the answer takes. */
  | {
      readonly kind: 'asking'
      readonly question: Question['kind']
      readonly stage: Stage
      readonly hop: string | undefined
    }
  | { readonly kind: 'ready'; readonly link: Link; readonly since: Date }
  /** The link is there, but the machine has not answered since; it may come back, or be found dead. */
  | { readonly kind: 'degraded'; readonly link: Link; readonly since: Date; readonly silentSince: Date }
  /** A live link died. */
  | { readonly kind: 'lost'; readonly reason: string; readonly at: Date }
  /** The last attempt to connect failed. */
  | { readonly kind: 'failed'; readonly reason: string; readonly stage: Stage; readonly at: Date }

export class MachineConnection {
  readonly machine: string
  readonly changes = new Emitter<ConnectionState>()
  readonly #attempt: SharedAttempt<Link>
  readonly #dependencies: ConnectDependencies
  readonly #spares = new WeakMap<Link, SpareLinks>()
  #state: ConnectionState = { kind: 'idle' }
  #failure: Failure | undefined
  #closed = false

  constructor(machine: string, dependencies: ConnectDependencies) {
    this.machine = machine
    this.#dependencies = dependencies
    this.#attempt = new SharedAttempt(`connecting to ${machine}`, (signal) => this.#connect(signal))
  }

  get state(): ConnectionState {
    return this.#state
  }

  /** The live link, if there is one now. */
  get current(): Link | undefined {
    const state = this.#state
    return 'link' in state && state.link.alive ? state.link : undefined
  }

  /**
   * The live link, connecting first when there is none. All callers of one moment share one attempt.
   *
   * `when-due` is for background questions: after an attempt that failed slowly they are answered with
   * its error for as long as it took (at most `LONGEST_REST_MS`), so that a dead machine cannot hold up
   * everything that merely looks at it. `now` always tries.
   * @throws ConnectError; CancelledError when `signal` fires.
   */
  async link(signal?: AbortSignal, hurry: Hurry = 'now'): Promise<Link> {
    const current = this.current
    if (current !== undefined) {
      current.touch()
      return current
    }
    if (this.#closed) {
      throw new ConnectError('Presence is shutting down', 'closed', {
        machine: this.machine,
        stage: 'config',
      })
    }
    const failure = this.#failure
    if (failure !== undefined && answers(failure, hurry)) {
      throw signal?.aborted === true
        ? new CancelledError(`connecting to ${this.machine}`, signal.reason)
        : failure.error
    }
    return this.#attempt.join(signal)
  }

  /**
   * Run a command over a link of this machine, or over a spare connection when that one is full.
   * @throws as `Link.exec`.
   */
  exec(link: Link, command: string, options: ExecOptions = {}): Promise<ExecChannel> {
    return (this.#spares.get(link) ?? link).exec(command, options)
  }

  /** Close the link after it was idle for at least `idleMs`. */
  closeIfIdle(idleMs: number): void {
    const link = this.current
    if (link === undefined) return
    this.#spares.get(link)?.closeIdle(idleMs)
    if (link.idleMs < idleMs) return
    this.#set({ kind: 'idle' })
    link.end()
  }

  /** End the link and refuse new ones. */
  close(): void {
    this.#closed = true
    this.drop()
  }

  /** End the link; the next use connects anew, with the configuration as it is then. */
  drop(): void {
    const link = this.current
    this.#attempt.cancel(
      new ConnectError('the attempt was given up', 'closed', { machine: this.machine, stage: 'config' }),
    )
    this.#set({ kind: 'idle' })
    if (link === undefined) return
    this.#spares.get(link)?.end()
    link.end()
  }

  async #connect(signal: AbortSignal): Promise<Link> {
    this.#set({ kind: 'connecting', stage: 'config', hop: undefined })
    const began = performance.now()
    let link: Link
    try {
      link = await connectOnce(
        this.machine,
        this.#dependencies,
        (progress) => this.#set(underWay(progress)),
        signal,
      )
    } catch (error) {
      const stage = error instanceof ConnectError ? error.stage : 'config'
      if (!signal.aborted) this.#failure = failureAfter(performance.now() - began, error)
      this.#set(
        signal.aborted
          ? { kind: 'idle' }
          : { kind: 'failed', reason: messageOf(error), stage, at: new Date() },
      )
      throw error
    }
    if (this.#closed) {
      link.end()
      throw new ConnectError('Presence is shutting down', 'closed', { machine: this.machine, stage: 'ready' })
    }
    this.#failure = undefined
    this.#spares.set(link, new SpareLinks(link, (stop) => this.#connectOneMore(stop)))
    this.#follow(link)
    return link
  }

  #follow(link: Link): void {
    const since = new Date()
    const isOurs = (): boolean => 'link' in this.#state && this.#state.link === link
    this.#set({ kind: 'ready', link, since })
    link.life.silences.on((silentSince) => {
      if (!isOurs()) return
      this.#set(
        silentSince === undefined
          ? { kind: 'ready', link, since }
          : { kind: 'degraded', link, since, silentSince },
      )
    })
    link.dead.addEventListener('abort', () => {
      if (isOurs()) this.#set({ kind: 'lost', reason: messageOf(link.dead.reason), at: new Date() })
    })
  }

  #connectOneMore(signal: AbortSignal): Promise<Link> {
    return connectOnce(
      this.machine,
      { ...this.#dependencies, questions: NOBODY },
      (_progressOfASpare) => undefined,
      signal,
    )
  }

  #set(state: ConnectionState): void {
    this.#state = state
    this.changes.emit(state)
  }
}

function failureAfter(ms: number, error: unknown): Failure {
  const at = performance.now()
  return { error, at, until: at + Math.min(ms, LONGEST_REST_MS) }
}

function answers({ at, until }: Failure, hurry: Hurry): boolean {
  if (hurry === 'now') return false
  return hurry === 'when-due' ? performance.now() < until : at >= hurry.since
}

function underWay({ stage, hop, asking }: Progress): ConnectionState {
  return asking === undefined
    ? { kind: 'connecting', stage, hop }
    : { kind: 'asking', question: asking, stage, hop }
}
