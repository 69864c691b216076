/** Running a command to its end for a tool: bounded output, the caller's signal, a time-out of its own. */
import type { RemoteProcess } from '../remote/process/remote-process.ts'
import { CollectedOutput } from '../remote/process/output.ts'

export interface Ran {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly stdout: string
  readonly stderr: string
  /** True when the beginning of a stream was left out. */
  readonly cut: boolean
  /** Files on the local computer with the whole of what was cut. */
  readonly spilled: readonly string[]
}

export interface CollectOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Keep the whole of longer output in a local file of at most this size. */
  readonly spillMaxBytes?: number
}

/** @throws what the process throws; the caller's abort ends it and is thrown. */
export async function collect(process: RemoteProcess, options: CollectOptions): Promise<Ran> {
  const limits = { maxBytes: options.maxBytes, spillMaxBytes: options.spillMaxBytes }
  const out = new CollectedOutput(limits, 'stdout')
  const err = new CollectedOutput(limits, 'stderr')
  process.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  process.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  let timedOut = false
  const stop = (): void => process.terminate()
  const timer = setTimeout(() => {
    timedOut = true
    stop()
  }, options.timeoutMs)
  options.signal.addEventListener('abort', stop, { once: true })
  if (options.signal.aborted) stop()
  try {
    const { exitCode, signal } = await process.done
    options.signal.throwIfAborted()
    out.seal()
    err.seal()
    const reads = [out.readFrom(0), err.readFrom(0)]
    return {
      exitCode,
      signal,
      timedOut,
      stdout: reads[0]?.text ?? '',
      stderr: reads[1]?.text ?? '',
      cut: reads.some((read) => read.lossy),
      spilled: reads.flatMap((read) => (read.lossy && read.spillPath !== undefined ? [read.spillPath] : [])),
    }
  } finally {
    clearTimeout(timer)
    options.signal.removeEventListener('abort', stop)
  }
}
