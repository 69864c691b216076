/** A remote terminal in the shape of the host's terminal handle, with the members of later hosts. */
import type { Readable } from 'node:stream'
import type {
  SubprocessOutcome,
  SubprocessTerminalForeground,
  SubprocessTerminalHandle,
  SubprocessTerminalSignal,
} from '@deepseek-ai/dsh-subprocess'
import type { RemoteTerminal } from '../remote/process/terminal.ts'

export class RemoteTerminalHandle implements SubprocessTerminalHandle {
  /** A local process id it is not, and nothing may signal it as one. */
  readonly pid = -1
  readonly output: Readable
  readonly done: Promise<SubprocessOutcome>
  readonly #terminal: RemoteTerminal

  constructor(terminal: RemoteTerminal) {
    this.#terminal = terminal
    this.output = terminal.output
    this.done = terminal.done
  }

  write(data: string): Promise<void> {
    return this.#terminal.write(data)
  }

  /** Later hosts only, and they await it. */
  async resize(cols: number, rows: number): Promise<void> {
    this.#terminal.resize(rows, cols)
  }

  async inspectForeground(): Promise<SubprocessTerminalForeground | undefined> {
    const foreground = await this.#terminal.foreground()
    return foreground === undefined
      ? undefined
      : { processGroupId: foreground.processGroup, inputWaiting: foreground.inputWaiting }
  }

  /** Later hosts ask whether the shell is at its prompt; a machine does not tell. */
  inspectActivity(): Promise<{ state: 'unknown'; revision: number }> {
    return Promise.resolve({ state: 'unknown', revision: 0 })
  }

  signalForeground(signal: SubprocessTerminalSignal): Promise<number> {
    return this.#terminal.signalForeground(signal)
  }

  terminate(): Promise<void> {
    return this.#terminal.terminate()
  }
}
