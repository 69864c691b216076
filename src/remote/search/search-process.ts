/**
 * A search in the shape of a process: the machine's ripgrep where it has one, our own engine where it has
 * none. Who runs it sees the same streams and exit codes either way.
 */
import { PassThrough } from 'node:stream'
import { once } from 'node:events'
import { CancelledError } from '../../base/failure.ts'
import { callerLeaves, race } from '../../base/race.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import type { ExitFacts } from '../../ssh/channel/exec.ts'
import type { Machine } from '../machine.ts'
import { RemoteProcess } from '../process/remote-process.ts'
import type { MachineSession } from '../session.ts'
import { inOrderOfTime, timesArgv } from './by-time.ts'
import { ownSearch } from './own/own-search.ts'

export interface SearchProcessRequest {
  readonly folder: RemotePath
  /** Milliseconds between TERM and KILL. */
  readonly graceMs: number
  /** Ripgrep's argv in the machine's terms, the program first. May throw to refuse. */
  readonly argv: (session: MachineSession) => readonly string[]
}

export class SearchProcess {
  readonly stdin = undefined
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  /** @throws StartError, LinkLostError, CancelledError. */
  readonly done: Promise<ExitFacts>
  readonly #stopping = new AbortController()
  #ripgrep: RemoteProcess | undefined

  constructor(machine: Machine, request: SearchProcessRequest) {
    this.done = this.#run(machine, request).finally(() => {
      this.stdout.end()
      this.stderr.end()
    })
    this.done.catch((_heardByWhoAwaitsIt: unknown) => undefined)
  }

  terminate(): void {
    this.#stopping.abort(new CancelledError('the search was ended'))
    this.#ripgrep?.terminate()
  }

  /** Wait until nothing of the search is left. @returns false when `signal` fired first. */
  async awaitGroup(signal?: AbortSignal): Promise<boolean> {
    try {
      await race(() => this.done.then(() => undefined), callerLeaves(signal, 'wait'))
    } catch (_failureOfTheSearch) {
      if (signal?.aborted === true) return false
    }
    return this.#ripgrep === undefined ? true : this.#ripgrep.awaitGroup(signal)
  }

  async #run(machine: Machine, request: SearchProcessRequest): Promise<ExitFacts> {
    const { signal } = this.#stopping
    const session = await machine.session(signal)
    const argv = request.argv(session)
    session.requireShell()
    if (session.searchEngine === 'rg') return this.#runRipgrep(machine, session, request, argv)
    const exitCode = await ownSearch(
      machine,
      session,
      { folder: request.folder, argv, signal },
      {
        print: async (text) => {
          if (!this.stdout.write(text)) await once(this.stdout, 'drain', { signal })
        },
        complain: (text) => void this.stderr.write(text),
      },
    ).catch((error: unknown) => {
      // Ended on purpose, it has ended as a process does that was told to.
      if (signal.aborted) return null
      throw error
    })
    return { exitCode, signal: exitCode === null ? 'SIGTERM' : null }
  }

  async #runRipgrep(
    machine: Machine,
    session: MachineSession,
    request: SearchProcessRequest,
    argv: readonly string[],
  ): Promise<ExitFacts> {
    const { folder, graceMs } = request
    const times = timesArgv(argv, session)
    const process = new RemoteProcess(
      machine,
      { argv: times ?? [...argv], folder, env: {}, input: 'none', graceMs, onlyReads: true },
      (_session, asked) => asked,
    )
    this.#ripgrep = process
    if (this.#stopping.signal.aborted) process.terminate()
    process.stderr.pipe(this.stderr, { end: false })
    if (times === undefined) process.stdout.pipe(this.stdout, { end: false })
    else this.stdout.write(await inOrderOfTime(process.stdout))
    return process.done
  }
}
