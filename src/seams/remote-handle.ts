/** A remote process in the shape of the host's process handle: collected or piped streams, exit, end. */
import type { Readable, Writable } from 'node:stream'
import type {
  SubprocessCollect,
  SubprocessCollectedOutputs,
  SubprocessHandle,
  SubprocessOutcome,
  SubprocessOutputMode,
  SubprocessSpawnSpec,
} from '@deepseek-ai/dsh-subprocess'
import { CollectedOutput } from '../remote/process/output.ts'
import type { ExitFacts } from '../ssh/channel/exec.ts'
import { toldFailure } from './told-failure.ts'

/** What a handle needs of the process behind it. */
export interface ProcessLike {
  readonly stdin: Writable | undefined
  readonly stdout: Readable
  readonly stderr: Readable
  readonly done: Promise<ExitFacts>
  terminate(): void
  awaitGroup(signal?: AbortSignal): Promise<boolean>
}

export class RemoteHandle implements SubprocessHandle {
  /** A local process id it is not, and nothing may signal it as one. */
  readonly pid = -1
  readonly stdin: Writable | undefined
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  /** Later hosts' control stream, which no remote process has. */
  readonly control = undefined
  readonly collected: SubprocessCollectedOutputs
  readonly done: Promise<SubprocessOutcome>
  readonly #process: ProcessLike

  constructor(process: ProcessLike, spec: SubprocessSpawnSpec) {
    this.#process = process
    this.stdin = process.stdin
    const out = attach(spec.stdio.stdout, process.stdout, 'stdout')
    const err = attach(spec.stdio.stderr, process.stderr, 'stderr')
    this.stdout = out.piped
    this.stderr = err.piped
    this.collected = {
      ...(out.collector === undefined ? {} : { stdout: out.collector }),
      ...(err.collector === undefined ? {} : { stderr: err.collector }),
    }
    const abort = (): void => process.terminate()
    spec.signal?.addEventListener('abort', abort, { once: true })
    this.done = process.done
      .catch((error: unknown) => {
        const told = toldFailure(error, spec.argv)
        if (told === undefined) throw error
        err.collector?.push(Buffer.from(told.text))
        return { exitCode: told.exitCode, signal: null }
      })
      .finally(() => {
        spec.signal?.removeEventListener('abort', abort)
        out.collector?.seal()
        err.collector?.seal()
      })
    this.done.catch((_heardByWhoAwaitsIt: unknown) => undefined)
  }

  terminate(): void {
    this.#process.terminate()
  }

  waitForExit(signal?: AbortSignal): Promise<boolean> {
    return this.#process.awaitGroup(signal)
  }
}

interface Attached {
  readonly piped: Readable | undefined
  readonly collector: CollectedOutput | undefined
}

function attach(mode: SubprocessOutputMode, stream: Readable, label: 'stdout' | 'stderr'): Attached {
  if (mode === 'pipe') return { piped: stream, collector: undefined }
  if (mode === 'inherit') {
    stream.pipe(process[label], { end: false })
    return { piped: undefined, collector: undefined }
  }
  const collect: SubprocessCollect = mode
  const collector = new CollectedOutput(
    { maxBytes: collect.maxBytes, spillMaxBytes: collect.spill?.maxBytes },
    label,
  )
  stream.on('data', (chunk: Buffer) => collector.push(chunk))
  return { piped: undefined, collector }
}
