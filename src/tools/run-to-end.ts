/** Waiting for a command of a tool: the caller's signal and a time limit end it. What it prints is read elsewhere. */
import { CancelledError } from '../base/failure.ts'
import type { ExitFacts } from '../ssh/channel/exec.ts'

/** What there must be of a command or search to wait for it. */
export interface Endable {
  readonly done: Promise<ExitFacts>
  terminate(): void
}

export interface Ended {
  readonly exitCode: number | null
  readonly signal: string | null
  /** The time was over and the command was ended. */
  readonly timedOut: boolean
}

/** @throws what the process throws; CancelledError once the caller's abort has ended it. */
export async function runToEnd(
  process: Endable,
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Ended> {
  let timedOut = false
  const stop = (): void => process.terminate()
  const timer = setTimeout(() => {
    timedOut = true
    stop()
  }, limits.timeoutMs)
  limits.signal.addEventListener('abort', stop, { once: true })
  if (limits.signal.aborted) stop()
  try {
    const { exitCode, signal } = await process.done
    if (limits.signal.aborted) throw new CancelledError('the command', limits.signal.reason)
    return { exitCode, signal, timedOut }
  } finally {
    clearTimeout(timer)
    limits.signal.removeEventListener('abort', stop)
  }
}
