/**
 * One program on a pseudo-terminal of a machine: its bytes, its size, what runs in its foreground, and
 * the end of its whole session. Readiness and meaning of the output belong to who reads it.
 */
import { PassThrough } from 'node:stream'
import { callerLeaves, diesWith, race } from '../../base/race.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import type { ExecChannel, ExitFacts, TerminalSize } from '../../ssh/channel/exec.ts'
import { LinkLostError } from '../../ssh/errors.ts'
import type { Machine } from '../machine.ts'
import type { MachineSession } from '../session.ts'
import { LONGEST_LINE_EVER, startScript } from '../shell/command-line.ts'
import { MarkedStream, randomMark } from '../shell/marked.ts'
import type { HelperShell } from '../shell/helper-shell.ts'
import { END_SESSION, FOREGROUND, LAUNCH, tenthsOf } from '../shell/scripts.ts'
import { variablesOf } from './environment.ts'
import { StartError, startFailure } from './errors.ts'
import { flow } from './flow.ts'
import { askMachine } from './remote-process.ts'

export interface TerminalRequest {
  readonly argv: readonly string[]
  readonly folder: RemotePath
  readonly env: Readonly<Record<string, string>>
  readonly size: TerminalSize
  /** Milliseconds between TERM and KILL when the session is ended. */
  readonly graceMs: number
}

export interface Foreground {
  readonly processGroup: number
  /** True only when a process of the group is known to wait for input. */
  readonly inputWaiting: boolean
}

export type TerminalSignal = 'SIGINT' | 'SIGTERM' | 'SIGKILL' | 'SIGTSTP' | 'SIGHUP'

/** A program that has not begun by then never will: its login shell hangs. */
const BEGIN_MS = 30_000

export class RemoteTerminal {
  /** The program's own bytes in order; ends when it has exited and all of them are here. */
  readonly output: PassThrough
  /** @throws LinkLostError when the connection breaks; never an invented exit. */
  readonly done: Promise<ExitFacts>
  /** Session and process group of the program on the machine. */
  readonly leader: number
  readonly #machine: Machine
  readonly #channel: ExecChannel
  readonly #graceMs: number
  #exited = false
  #ending: Promise<void> | undefined

  /** @throws StartError, LinkLostError, CancelledError. */
  static async start(
    machine: Machine,
    request: TerminalRequest,
    prepare: (session: MachineSession, request: TerminalRequest) => Promise<TerminalRequest>,
    signal?: AbortSignal,
  ): Promise<RemoteTerminal> {
    const session = await machine.session(signal)
    const prepared = await prepare(session, request)
    const variables = variablesOf(prepared.env, session)
    const mark = randomMark()
    const start = startScript(
      LAUNCH,
      [mark, prepared.folder, '1', 'terminal', String(variables.length), ...variables, ...prepared.argv],
      session.requireShell().loginShell,
      LONGEST_LINE_EVER,
    )
    // A terminal's line editor would cut a long preamble and show it: such a command cannot be typed.
    if (start.preamble !== '') {
      throw new StartError('the command is too long for a terminal', 'refused', session.machine)
    }
    session.commands.emit('begins')
    const channel = await session.exec(start.commandLine, { signal, terminal: prepared.size, lasting: true })
    void channel.closed.then(() => session.commands.emit('ended'))
    const output = new PassThrough()
    const header = Promise.withResolvers<string>()
    const marked = new MarkedStream(
      mark,
      (line) => header.resolve(line.trim()),
      (chunk) => flow(channel.stdout, output, chunk),
    )
    channel.stdout.on('data', (chunk: Buffer) => marked.push(chunk))
    void channel.closed.then(() => header.resolve(''))
    try {
      const line = await race(
        () => header.promise,
        [...callerLeaves(signal, 'a terminal'), diesWith(channel.owner.dead)],
        {
          afterMs: BEGIN_MS,
          error: () =>
            new LinkLostError('the login shell did not start a terminal', { machine: session.machine }),
        },
      )
      const pid = /^ok (\d+)$/.exec(line)?.[1]
      if (pid === undefined) throw startFailure(line, marked.noise, prepared, session.machine)
      return new RemoteTerminal(machine, channel, output, Number(pid), prepared.graceMs)
    } catch (error) {
      channel.close()
      throw error
    }
  }

  private constructor(
    machine: Machine,
    channel: ExecChannel,
    output: PassThrough,
    leader: number,
    graceMs: number,
  ) {
    this.#machine = machine
    this.#channel = channel
    this.output = output
    this.leader = leader
    this.#graceMs = graceMs
    this.done = channel.exit
      .then(async (exit) => {
        this.#exited = true
        // What was printed before the exit is still on its way; a child that holds the terminal is not waited for.
        await race(() => channel.closed, [], {
          afterMs: graceMs,
          error: () => new Error('a child holds the terminal'),
        }).catch((_heldOpen: unknown) => channel.close())
        return exit
      })
      .finally(() => {
        this.#exited = true
        output.end()
      })
    this.done.catch((_heardByWhoAwaitsIt: unknown) => undefined)
  }

  get machine(): string {
    return this.#machine.name
  }

  get exited(): boolean {
    return this.#exited
  }

  /** Type text, as it is. @throws StartError when the program has ended. */
  async write(text: string): Promise<void> {
    if (this.#exited) throw new StartError('the terminal’s program has ended', 'refused', this.machine)
    if (this.#channel.stdin.write(text)) return
    await race(
      () => new Promise<void>((resolve) => this.#channel.stdin.once('drain', () => resolve())),
      [diesWith(this.#channel.owner.dead)],
    )
  }

  resize(rows: number, cols: number): void {
    if (!this.#exited) this.#channel.resize(rows, cols)
  }

  /** @returns undefined when no foreground group can be told. */
  async foreground(): Promise<Foreground | undefined> {
    if (this.#exited) return undefined
    const helper = await this.#helper()
    const script = `(set -- ${this.leader}; ${FOREGROUND})`
    const [group = '', waiting] = (await helper.run(script)).output.toString('latin1').split(' ')
    const processGroup = Number.parseInt(group, 10)
    return processGroup > 0 ? { processGroup, inputWaiting: waiting === '1' } : undefined
  }

  /** @returns the process group that was signalled. @throws StartError when there is none. */
  async signalForeground(signal: TerminalSignal): Promise<number> {
    const foreground = await this.foreground()
    if (foreground === undefined) {
      throw new StartError('the terminal has no foreground process group', 'refused', this.machine)
    }
    const { processGroup } = foreground
    if (signal === 'SIGKILL' && processGroup === this.leader) {
      throw new StartError(
        'the terminal’s own program is not killed; end the terminal instead',
        'refused',
        this.machine,
      )
    }
    const name = signal.slice('SIG'.length)
    const helper = await this.#helper()
    await helper.run(`kill -s ${name} -- -${processGroup} || kill -s ${name} -${processGroup}`)
    return processGroup
  }

  /** Of the machine's present session: the terminal's own connection may be another one. */
  async #helper(): Promise<HelperShell> {
    return (await this.#machine.session()).helper()
  }

  /** End every process of the terminal's session and wait for it. Idempotent. */
  terminate(): Promise<void> {
    this.#ending ??= this.#end().catch((error: unknown) => {
      this.#ending = undefined
      throw error
    })
    return this.#ending
  }

  async #end(): Promise<void> {
    if (!this.#channel.owner.dead.aborted) {
      const words = [String(this.leader), tenthsOf(this.#graceMs)]
      await askMachine(await this.#machine.session(), END_SESSION, words, { urgent: true })
    }
    this.#channel.close()
    await this.done.catch((_toldToWhoAwaitsIt: unknown) => undefined)
  }
}
