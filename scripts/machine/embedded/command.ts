/**
 * One command of a channel: a process group of its own whose streams are the channel's. Behaves as
 * sshd without a terminal does: the exit status goes out when the leader ends, the channel closes when
 * nobody holds its output any more, and a client that leaves does not kill, it only closes the pipes.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { ServerChannel } from 'ssh2'
import { ChannelOutput } from './output.ts'

export interface CommandPlace {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Signals that the protocol has a name for (RFC 4254, section 6.10). */
const NAMED_SIGNALS = /^SIG(ABRT|ALRM|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|USR1|USR2)$/

/** Exit status of a command that could not be started, as a shell would give it. */
const NOT_STARTED = 126

export class Command {
  /** Resolves when the leader has ended and its output is closed; never rejects. */
  readonly gone: Promise<void>
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>

  constructor(channel: ServerChannel, text: string, place: CommandPlace) {
    this.#child = spawn('/bin/sh', ['-c', text], {
      cwd: place.cwd,
      env: place.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.gone = this.#converse(channel).catch((failure: unknown) => {
      console.error(`presence: embedded machine, command ${JSON.stringify(text)}:`, failure)
    })
  }

  /** Signal the whole group; a group that has ended already is no failure. */
  kill(signal: NodeJS.Signals): void {
    const leader = this.#child.pid
    if (leader === undefined) return
    try {
      process.kill(-leader, signal)
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== 'ESRCH') throw failure
    }
  }

  /** End the group and wait until it is gone. */
  async end(): Promise<void> {
    this.kill('SIGKILL')
    this.#child.stdout.destroy()
    this.#child.stderr.destroy()
    await this.gone
  }

  async #converse(channel: ServerChannel): Promise<void> {
    const child = this.#child
    const output = new ChannelOutput(channel)
    this.#feed(channel)
    channel.on('close', () => {
      child.stdin.destroy()
      child.stdout.destroy()
      child.stderr.destroy()
    })
    const ended = new Promise<void>((resolve) => {
      child.on('exit', (code, signal) => {
        if (signal === null) channel.exit(code ?? NOT_STARTED)
        else if (NAMED_SIGNALS.test(signal)) channel.exit(signal.slice(3), false, '')
        else channel.exit(255)
        resolve()
      })
      child.on('error', (cause) => {
        void output.send('stderr', Buffer.from(`cannot start /bin/sh: ${cause.message}\n`))
        channel.exit(NOT_STARTED)
        resolve()
      })
    })
    await Promise.all([ended, output.pump('stdout', child.stdout), output.pump('stderr', child.stderr)])
    channel.end()
  }

  /** The channel's input is the command's, until either of them has enough. */
  #feed(channel: ServerChannel): void {
    const { stdin } = this.#child
    channel.pipe(stdin)
    // A command may end without reading its input; what still comes is thrown away.
    stdin.on('error', (_commandDoesNotRead) => undefined)
    stdin.on('close', () => channel.resume())
    channel.on('error', (_clientLeft: unknown) => undefined)
  }
}
