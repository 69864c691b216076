/**
 * One command on a machine: raw byte streams and the exit as the server reports it. Knows nothing of
 * what the command is; a lost connection is a rejection, never an exit code.
 */
import type { ClientChannel } from 'ssh2'
import type { Readable, Writable } from 'node:stream'
import { LinkLostError } from '../errors.ts'
import type { RoundTrip } from '../connection/round-trip.ts'

export interface ExitFacts {
  /** Null when a signal ended the process. */
  readonly exitCode: number | null
  /** With its `SIG` prefix. */
  readonly signal: NodeJS.Signals | null
}

/** A pseudo-terminal for a command: its streams are one then, and closing it hangs up. */
export interface TerminalSize {
  /** For `TERM`, e.g. `xterm-256color`. */
  readonly type: string
  readonly rows: number
  readonly cols: number
}

/** What a channel has to know of the connection it lives on. */
export interface Owner {
  readonly machine: string
  readonly dead: AbortSignal
  /** Milliseconds without an answer after which a small request is given up. */
  readonly requestMs: number
  /** How far away the machine is. */
  readonly roundTrip: RoundTrip
  /**
   * Told when a request had no answer for `silentMs`: a line that carries nothing at all is dead, and is
   * given up as such. Settles when that is known; never rejects.
   */
  suspect(silentMs: number): Promise<void>
}

export class ExecChannel {
  /** The command's standard input; ending it is end of file for the command. */
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Settles as soon as the server reports the exit, which may be before the output ends. */
  readonly exit: Promise<ExitFacts>
  /** Settles when the channel is closed on both sides; never rejects. */
  readonly closed: Promise<void>
  /** The connection it lives on. */
  readonly owner: Owner
  readonly #channel: ClientChannel

  constructor(channel: ClientChannel, owner: Owner) {
    this.#channel = channel
    this.owner = owner
    this.stdin = channel
    this.stdout = channel
    this.stderr = channel.stderr
    // A channel that breaks says so by closing; its stream errors carry nothing more.
    channel.on('error', (_seenAsClose: unknown) => undefined)
    channel.stderr.on('error', (_seenAsClose: unknown) => undefined)
    this.closed = new Promise((resolve) => {
      const done = (): void => {
        owner.dead.removeEventListener('abort', done)
        resolve()
      }
      channel.once('close', done)
      owner.dead.addEventListener('abort', done)
      if (owner.dead.aborted) done()
    })
    this.exit = new Promise((resolve, reject) => {
      channel.once('exit', (code: number | null, signal?: string) => {
        resolve({
          exitCode: signal === undefined ? code : null,
          signal: signal === undefined ? null : (`SIG${signal.replace(/^SIG/, '')}` as NodeJS.Signals),
        })
      })
      void this.closed.then(() =>
        reject(
          owner.dead.aborted
            ? new LinkLostError('the connection was lost while a command ran', {
                machine: owner.machine,
                outcomeUnknown: true,
                cause: owner.dead.reason,
              })
            : new LinkLostError('the server closed the command without telling its exit', {
                machine: owner.machine,
                outcomeUnknown: true,
              }),
        ),
      )
    })
    this.exit.catch((_heardByWhoAwaitsIt: unknown) => undefined)
  }

  /** Tell the terminal's new size; only for channels that were opened with one. */
  resize(rows: number, cols: number): void {
    this.#channel.setWindow(rows, cols, 0, 0)
  }

  /** Close our side; what still runs on the machine loses its input and its readers. */
  close(): void {
    this.#channel.close()
  }
}
