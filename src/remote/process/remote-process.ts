/**
 * One command on one machine, from the request to the last trace of it: started as the leader of its
 * own process group through the launch script, ended as a group by its lifeline.
 *
 * Exit facts come from the server alone. A connection that breaks is a rejection, never an exit code.
 */
import { PassThrough } from 'node:stream'
import { CancelledError } from '../../base/failure.ts'
import { bytesOfText } from '../../base/name-bytes.ts'
import { callerLeaves, diesWith, pause, race } from '../../base/race.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import type { ExecChannel, ExitFacts } from '../../ssh/channel/exec.ts'
import type { ExecOptions } from '../../ssh/connection/link.ts'
import type { Machine } from '../machine.ts'
import type { MachineSession } from '../session.ts'
import type { TakenShell } from './ready-shells.ts'
import { startScript } from '../shell/command-line.ts'
import { MarkedStream, randomMark } from '../shell/marked.ts'
import { openScript } from '../shell/open-script.ts'
import { AWAIT_GROUP, END_GROUP, readyLine, tenthsOf } from '../shell/scripts.ts'
import { variablesOf } from './environment.ts'
import { startFailure } from './errors.ts'
import { flow } from './flow.ts'

export interface ProcessRequest {
  readonly argv: readonly string[]
  readonly folder: RemotePath
  readonly env: Readonly<Record<string, string>>
  /** `none`: /dev/null, with the channel's input as lifeline; otherwise the command reads the channel. */
  readonly input: 'none' | 'pipe' | { readonly data: string | Buffer }
  /** Milliseconds between TERM and KILL, and for output that a surviving child holds open. */
  readonly graceMs: number
  /** It changes nothing on the machine, as a search does: what is known of its files stays known. */
  readonly onlyReads?: boolean
}

/** Rewrites the request once the machine is known, e.g. to confine it. May throw to refuse it. */
export type Prepare = (
  session: MachineSession,
  request: ProcessRequest,
) => ProcessRequest | Promise<ProcessRequest>

/** Output that is on its way comes without such a pause, in milliseconds. */
const QUIET_MS = 1000
/** A child that never stops printing is not waited for longer than that. */
const LONGEST_DRAIN_MS = 30_000

export class RemoteProcess {
  /** The command's input; present when `input` is `pipe`. */
  readonly stdin: PassThrough | undefined
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  /** Resolves when the leader ended and its output is here. @throws StartError, LinkLostError, … */
  readonly done: Promise<ExitFacts>
  readonly #machine: Machine
  readonly #request: ProcessRequest
  readonly #stopping = new AbortController()
  #channel: ExecChannel | undefined
  #session: MachineSession | undefined
  #pid: number | undefined
  /** Settles when the launch script of the present shell has said something. */
  #begun: Promise<void> = Promise.resolve()
  /** Settles when the launch script has said whether it started the command, or never will. */
  readonly #headed = Promise.withResolvers<void>()
  /** When output came last. */
  #heardAt = 0
  #exited = false
  #gone = false

  constructor(machine: Machine, request: ProcessRequest, prepare: Prepare) {
    this.#machine = machine
    this.#request = request
    this.stdin = request.input === 'pipe' ? new PassThrough() : undefined
    this.done = this.#run(prepare).finally(() => {
      this.stdout.end()
      this.stderr.end()
    })
    this.done.catch((_heardByWhoAwaitsIt: unknown) => undefined)
  }

  /** The group's id on the machine, once it is known. */
  get pid(): number | undefined {
    return this.#pid
  }

  /** Begin TERM, grace, KILL on the whole group. Idempotent; does nothing when the group is gone. */
  terminate(): void {
    if (this.#stopping.signal.aborted || this.#gone) return
    this.#stopping.abort(new CancelledError('the command was ended'))
    if (this.#channel !== undefined) this.#stop(this.#channel)
  }

  /**
   * Wait until no member of the group is left.
   * @returns false when `signal` fired first, or when the machine can no longer be asked.
   */
  async awaitGroup(signal?: AbortSignal): Promise<boolean> {
    try {
      await race(() => this.done.then(() => undefined), callerLeaves(signal, 'wait'))
    } catch (_failureOfTheCommand) {
      if (signal?.aborted === true) return false
    }
    if (this.#pid === undefined || this.#gone) return true
    if (this.#session?.link.alive !== true) return false
    try {
      await askMachine(this.#session, AWAIT_GROUP, [String(this.#pid)], { signal })
      this.#gone = true
      return true
    } catch (_machineCannotBeAsked) {
      return false
    }
  }

  #stop(channel: ExecChannel): void {
    if (this.#request.input === 'none' && !this.#exited) channel.stdin.end('stop\n')
    else void this.#endByAnotherChannel()
  }

  async #run(prepare: Prepare): Promise<ExitFacts> {
    const stop = this.#stopping.signal
    const session = await this.#machine.session(stop)
    this.#session = session
    const request = await prepare(session, this.#request)
    let shell = await this.#start(session, request, stop)
    if (shell.waited && (await this.#hasRunNothing(shell.channel))) {
      shell = await this.#start(session, request, stop, true)
    }
    const { channel } = shell
    const exit = await channel.exit
    if (request.onlyReads !== true) session.commands.emit('ended')
    this.#exited = true
    if (!(await this.#drained(channel, request.graceMs))) channel.close()
    await this.#failToStart
    return exit
  }

  /**
   * Wait for the output of a leader that has ended: its end may be told before all that it printed, by as
   * much as the line and our own reader are behind. What stays silent is held by a child that lives on.
   * @returns false when such a child is there.
   */
  async #drained(channel: ExecChannel, graceMs: number): Promise<boolean> {
    const began = performance.now()
    for (let wait = graceMs; ; wait = QUIET_MS) {
      if (await Promise.race([channel.closed.then(() => true), pause(wait).then(() => false)])) return true
      if (this.#stopping.signal.aborted) return false
      if (channel.stdout.isPaused() || channel.stderr.isPaused()) continue
      const now = performance.now()
      if (now - this.#heardAt > QUIET_MS || now - began > LONGEST_DRAIN_MS) return false
    }
  }

  /** Whether a shell that waited ended before it said that it begins: its machine had ended it, and nothing was run. */
  async #hasRunNothing(channel: ExecChannel): Promise<boolean> {
    const ended = channel.exit.then(() => channel.closed).then(() => true)
    ended.catch((_saidByTheExit: unknown) => undefined)
    return (await Promise.race([this.#begun.then(() => false), ended])) && !this.#stopping.signal.aborted
  }

  /** Rejects when the launch script said that it could not start the command. */
  #failToStart: Promise<void> = Promise.resolve()

  async #start(
    session: MachineSession,
    request: ProcessRequest,
    signal: AbortSignal,
    fresh = false,
  ): Promise<TakenShell> {
    session.requireShell()
    const variables = variablesOf(request.env, session)
    const mark = randomMark()
    const line = readyLine([
      mark,
      request.folder,
      tenthsOf(request.graceMs),
      request.input === 'none' ? 'watched' : 'direct',
      String(variables.length),
      ...variables,
      ...request.argv,
    ])
    const shell = await session.shells.take(signal, fresh)
    const { channel } = shell
    this.#channel = channel
    if (request.onlyReads === true) session.commands.emit('reads')
    else {
      session.commands.emit('begins')
      void channel.closed.then(() => session.commands.emit('ended'))
    }
    this.#connect(channel, request, mark)
    channel.stdin.write(bytesOfText(line))
    if (request.input === 'pipe') {
      // What a command reads as it comes cannot be read again: a shell that may be gone gets none of it.
      if (shell.waited) void this.#begun.then(() => this.stdin?.pipe(channel.stdin))
      else this.stdin?.pipe(channel.stdin)
    } else if (request.input !== 'none') channel.stdin.end(request.input.data)
    // Ended while the channel was being opened: nothing may be left behind.
    if (signal.aborted) this.#stop(channel)
    return shell
  }

  /** Pass the command's own bytes on, and learn its pid or why it did not start. */
  #connect(channel: ExecChannel, request: ProcessRequest, mark: string): void {
    const machine = this.#machine.name
    let header: string | undefined
    const begun = Promise.withResolvers<void>()
    this.#begun = begun.promise
    const out = new MarkedStream(
      mark,
      (line) => {
        header = line
        begun.resolve()
        this.#headed.resolve()
        const pid = /^ok (\d+)$/.exec(line)?.[1]
        if (pid !== undefined) this.#pid = Number(pid)
      },
      (chunk) => flow(channel.stdout, this.stdout, chunk),
    )
    const err = new MarkedStream(
      mark,
      () => undefined,
      (chunk) => flow(channel.stderr, this.stderr, chunk),
    )
    const hear = (stream: MarkedStream, chunk: Buffer): void => {
      this.#heardAt = performance.now()
      stream.push(chunk)
    }
    channel.stdout.on('data', (chunk: Buffer) => hear(out, chunk))
    channel.stderr.on('data', (chunk: Buffer) => hear(err, chunk))
    this.#failToStart = channel.exit.then(async () => {
      await channel.closed
      this.#headed.resolve()
      if (header?.startsWith('ok ') !== true) {
        throw startFailure(header ?? '', `${out.noise}\n${err.noise}`, request, machine)
      }
    })
    this.#failToStart.catch((_thrownByRun: unknown) => undefined)
  }

  /** For commands that use the channel's input themselves, or whose leader is gone already. */
  async #endByAnotherChannel(): Promise<void> {
    const session = this.#session
    await race(() => this.#headed.promise, [], {
      afterMs: this.#request.graceMs,
      error: () => new Error('silent'),
    }).catch((_thenTheChannelIsClosed: unknown) => undefined)
    if (session === undefined || this.#pid === undefined) {
      this.#channel?.close()
      return
    }
    try {
      const grace = tenthsOf(this.#request.graceMs)
      await askMachine(session, END_GROUP, [String(this.#pid), grace], { urgent: true })
    } catch (_machineCannotBeAsked) {
      // A dead link ends here too; what still runs there is told by `awaitGroup`.
      await pause(0)
    }
  }
}

/**
 * Run one of our own scripts to its end, its output dropped.
 * @param options - `urgent` for one that ends what others may wait for. @throws ChannelError, LinkLostError.
 */
export async function askMachine(
  session: MachineSession,
  script: string,
  args: readonly string[],
  options: Pick<ExecOptions, 'signal' | 'urgent'> = {},
): Promise<void> {
  const { signal } = options
  const start = startScript(script, args, session.requireShell().loginShell)
  const channel = await openScript(session.exec, start, options)
  channel.stdout.resume()
  channel.stderr.resume()
  channel.stdin.end()
  try {
    await race(() => channel.exit, [...callerLeaves(signal, 'wait'), diesWith(channel.owner.dead)])
  } finally {
    channel.close()
  }
}
