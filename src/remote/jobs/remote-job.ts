/**
 * One background job on one machine, over as many connections as it takes. It is started so that it needs none;
 * here its output is read on from where it was, until its exit is known.
 *
 * Whatever has to outlive this process is told to the ledger before the machine is asked for it.
 */
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { CancelledError, PresenceError, messageOf } from '../../base/failure.ts'
import { callerLeaves, diesWith, race } from '../../base/race.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import type { ExitFacts } from '../../ssh/channel/exec.ts'
import { ConnectError, LinkLostError } from '../../ssh/errors.ts'
import type { Machine } from '../machine.ts'
import { askMachine, type Prepare, type ProcessRequest } from '../process/remote-process.ts'
import type { MachineSession } from '../session.ts'
import { AWAIT_GROUP } from '../shell/scripts.ts'
import { JobLostError } from './errors.ts'
import { followJob, type Outlet } from './follow.ts'
import { homeOf, requireHome, type JobHome } from './home.ts'
import { Patience } from './patience.ts'
import { endJob, jobFolder, removeJob, startJob, statusOfJob } from './questions.ts'

/** Keeps what is known of a job where a crash does not reach it. */
export interface JobLedger {
  /** The job will be in this folder of this machine. */
  placed(folder: RemotePath, home: JobHome): void
  /** It is to end, whoever meets it. */
  ending(): void
  /** All of it was handed over: what lies on the machine is to go. */
  collected(): void
  /** Nothing of it is on the machine any more, or ever was. */
  removed(): void
}

/** A job that was started earlier. */
export interface KnownJob {
  readonly folder: RemotePath
  readonly home: JobHome
  readonly graceMs: number
  /** Bytes of its streams that were handed over already. */
  readonly read: { readonly out: number; readonly err: number }
}

/** How long a machine is waited for that is to end a job, beside the job's own grace, in milliseconds. */
const END_MS = 10_000
/** A connection over which a job was followed for that long was a good one, whatever came of it, in milliseconds. */
const STEADY_MS = 5000

export class RemoteJob {
  readonly stdin = undefined
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  /**
   * Resolves when the job has ended and all of its output is here. A lost connection does not reject it.
   * @throws StartError; JobLostError when its exit will never be known; whatever connecting fails with at first.
   */
  readonly done: Promise<ExitFacts>
  readonly #machine: Machine
  readonly #ledger: JobLedger
  readonly #graceMs: number
  readonly #stopping = new AbortController()
  /** Aborted when the job is left to the next connection. */
  readonly #left = new AbortController()
  readonly #patience: Patience
  readonly #out: Outlet
  readonly #err: Outlet
  /** Sessions with the machine that the job is on. */
  readonly #athome = new WeakSet<MachineSession>()
  #folder: RemotePath | undefined
  #home: JobHome | undefined
  #started = false
  /** There was no answer to its start. */
  #uncertain = false
  #settled = false
  #group: number | undefined

  /** @param id - 24 hexadecimal digits that no other job has. */
  static start(
    machine: Machine,
    id: string,
    request: ProcessRequest,
    prepare: Prepare,
    ledger: JobLedger,
  ): RemoteJob {
    return new RemoteJob(machine, ledger, request.graceMs, { out: 0, err: 0 }, (job) =>
      job.#start(id, request, prepare),
    )
  }

  /** Goes on with a job that may run or have ended. Connects. */
  static adopt(machine: Machine, known: KnownJob, ledger: JobLedger): RemoteJob {
    return new RemoteJob(machine, ledger, known.graceMs, known.read, (job) => {
      job.#folder = known.folder
      job.#home = known.home
      job.#started = true
      return job.#attend(known.folder)
    })
  }

  private constructor(
    machine: Machine,
    ledger: JobLedger,
    graceMs: number,
    read: KnownJob['read'],
    run: (job: RemoteJob) => Promise<ExitFacts>,
  ) {
    this.#machine = machine
    this.#ledger = ledger
    this.#graceMs = graceMs
    this.#patience = new Patience(machine)
    this.#out = { stream: this.stdout, passed: read.out }
    this.#err = { stream: this.stderr, passed: read.err }
    this.done = this.#run(run)
    this.done.catch((_heardByWhoAwaitsIt: unknown) => undefined)
  }

  /** Why it is not followed now, and will not be before somebody connects; undefined otherwise. */
  get obstacle(): string | undefined {
    return this.#patience.obstacle
  }

  /** Begin TERM, grace, KILL on the whole group. Idempotent. A machine that is away is told when it is back. */
  terminate(): void {
    if (this.#stopping.signal.aborted || this.#settled) return
    this.#stopping.abort(new CancelledError('the background job was ended'))
    if (this.#folder !== undefined) this.#ledger.ending()
    if (this.#started) void this.#end()
  }

  /**
   * Wait until no member of the group is left.
   * @returns false when `signal` fired first, or when the machine cannot be asked.
   */
  async awaitGroup(signal?: AbortSignal): Promise<boolean> {
    try {
      await race(() => this.done.then(() => undefined), callerLeaves(signal, 'wait'))
    } catch (_failureOfTheJob) {
      if (signal?.aborted === true) return false
    }
    if (!this.#started) return true
    const session = this.#machine.current
    if (this.#group === undefined || session === undefined || !this.#athome.has(session)) return false
    try {
      await askMachine(session, AWAIT_GROUP, [String(this.#group)], { signal })
      return true
    } catch (_machineCannotBeAsked) {
      return false
    }
  }

  /** All of it was handed over: remove what lies on the machine, now or at the next connection. */
  async discard(): Promise<void> {
    if (this.#folder === undefined) return
    this.#ledger.collected()
    const session = this.#machine.current
    if (session === undefined) return
    try {
      await this.#requireHome(session, this.#folder)
      if (await removeJob(session, this.#folder)) this.#ledger.removed()
    } catch (error) {
      // The ledger has it, for the next connection.
      if (!(error instanceof PresenceError)) throw error
    }
  }

  async #run(run: (job: RemoteJob) => Promise<ExitFacts>): Promise<ExitFacts> {
    try {
      return await race(() => run(this), [diesWith(this.#left.signal)])
    } finally {
      await this.#settle()
    }
  }

  async #start(id: string, asked: ProcessRequest, prepare: Prepare): Promise<ExitFacts> {
    const stop = this.#stopping.signal
    const session = await this.#machine.session(stop)
    const request = await prepare(session, asked)
    const folder = jobFolder(session, id)
    if (stop.aborted) throw stop.reason
    this.#folder = folder
    this.#home = homeOf(session)
    this.#ledger.placed(folder, this.#home)
    session.commands.emit('begins')
    try {
      await startJob(session, request, folder)
    } catch (error) {
      if (!(error instanceof LinkLostError)) {
        this.#ledger.removed()
        throw error
      }
      // It may run, or may not: its folder tells, once the machine is back.
      this.#uncertain = true
    }
    this.#started = true
    if (stop.aborted) {
      this.#ledger.ending()
      void this.#end()
    }
    return this.#attend(folder)
  }

  async #attend(folder: RemotePath): Promise<ExitFacts> {
    for (;;) {
      try {
        const session = await this.#patience.session(this.#left.signal)
        await this.#requireHome(session, folder, this.#left.signal)
        this.#patience.reached()
        const exit = await this.#hear(session, folder)
        if (exit !== undefined) return exit
      } catch (error) {
        if (!canPass(error)) throw error
        this.#patience.failed(error)
      }
    }
  }

  /** Pass on what one connection brings. @returns the exit, once all that was printed before it is here. */
  async #hear(session: MachineSession, folder: RemotePath): Promise<ExitFacts | undefined> {
    if (!(await this.#follow(session, folder, 'live'))) throw this.#missing(session.machine, folder)
    const status = await statusOfJob(session, folder, this.#left.signal)
    if (status.kind === 'gone') throw this.#missing(session.machine, folder)
    // Of one that has ended without a word the number may be anybody's by now.
    this.#group = status.alive || status.exit !== undefined ? status.group : undefined
    const isWhole = (): boolean => this.#out.passed >= status.out && this.#err.passed >= status.err
    if (!status.alive && !isWhole()) await this.#follow(session, folder, 'rest')
    if (status.alive || !isWhole()) {
      // Somebody has ended what followed it.
      this.#patience.failed()
      return undefined
    }
    if (status.exit !== undefined) return status.exit
    void this.discard()
    throw new JobLostError(
      'the background job ended without telling how: the machine was restarted, or what watched over it was killed',
      session.machine,
    )
  }

  async #follow(session: MachineSession, folder: RemotePath, which: 'live' | 'rest'): Promise<boolean> {
    const began = performance.now()
    const before = this.#out.passed + this.#err.passed
    try {
      return await followJob(session, folder, this.#out, this.#err, which, this.#left.signal)
    } finally {
      const isSteady = performance.now() - began > STEADY_MS
      if (isSteady || this.#out.passed + this.#err.passed > before) this.#patience.succeeded()
    }
  }

  /** @throws OtherMachineError; LinkLostError, ChannelError. */
  async #requireHome(session: MachineSession, folder: RemotePath, signal?: AbortSignal): Promise<void> {
    if (this.#home === undefined || this.#athome.has(session)) return
    await requireHome(session, folder, this.#home, signal)
    this.#athome.add(session)
  }

  #missing(machine: string, folder: RemotePath): JobLostError {
    // What was asked for just before the line broke may still come.
    if (this.#uncertain) this.#ledger.ending()
    else this.#ledger.removed()
    const what = this.#uncertain ? 'did not begin before the connection broke' : 'is not there any more'
    return new JobLostError(`the background job ${what}: there is no folder ${folder}`, machine)
  }

  async #end(): Promise<void> {
    const folder = this.#folder
    if (folder === undefined) return
    const late = AbortSignal.timeout(this.#graceMs + END_MS)
    try {
      const session = await this.#machine.session(late)
      await this.#requireHome(session, folder, late)
      await endJob(session, folder, this.#graceMs, late)
      // Its exit comes by the connection that follows it, unless that breaks now.
      await race(() => this.done, [], { afterMs: END_MS, error: () => new Error('its exit is not known') })
    } catch (error) {
      if (this.#settled) return
      const why = `the background job could not be ended yet, and will be at the next connection: ${messageOf(error)}`
      this.#left.abort(new JobLostError(why, this.#machine.name, error))
    }
  }

  async #settle(): Promise<void> {
    this.#settled = true
    this.#left.abort(new CancelledError('the background job has settled'))
    // Nobody reads what a job that was ended has left.
    if (this.#stopping.signal.aborted && !(this.#left.signal.reason instanceof JobLostError))
      void this.discard()
    this.stdout.end()
    this.stderr.end()
    await Promise.all([finished(this.stdout), finished(this.stderr)])
  }
}

/** Whether waiting may help. */
function canPass(error: unknown): boolean {
  if (!(error instanceof PresenceError) || error instanceof JobLostError) return false
  if (error.family === 'cancelled') return false
  return !(error instanceof ConnectError && error.code === 'closed')
}
