/**
 * Waiting with a way out: every wait in Presence can end by the answer, by the caller's signal, by
 * another signal (a dead link) or by a deadline; whichever comes first, all listeners and timers go.
 */
import { CancelledError } from './failure.ts'

export interface WayOut {
  /** Ends the wait with the error that `error` builds; the first one wins. */
  readonly signal: AbortSignal
  readonly error: (reason: unknown) => Error
}

export interface Deadline {
  /** Milliseconds from now. */
  readonly afterMs: number
  /** Asked then: how many milliseconds more to wait, because there was progress; 0 when there was none. */
  readonly moreMs?: () => number
  readonly error: () => Error
}

/** The caller's own abort signal as a way out. */
export function callerLeaves(signal: AbortSignal | undefined, what: string): WayOut[] {
  return signal === undefined ? [] : [{ signal, error: (reason) => new CancelledError(what, reason) }]
}

/** A signal whose reason is already the error to raise (a link that died with a typed cause). */
export function diesWith(signal: AbortSignal): WayOut {
  return { signal, error: (reason) => (reason instanceof Error ? reason : new Error(String(reason))) }
}

/**
 * Start an operation and wait for it under ways out and a deadline. The operation is not started when
 * a way out is already open. A late answer after the race is lost is dropped.
 */
export async function race<T>(
  start: () => Promise<T>,
  ways: readonly WayOut[],
  deadline?: Deadline,
): Promise<T> {
  for (const way of ways) if (way.signal.aborted) throw way.error(way.signal.reason)
  return new Promise<T>((resolve, reject) => {
    const releases: (() => void)[] = []
    const settle = (finish: () => void): void => {
      for (const release of releases) release()
      finish()
    }
    for (const way of ways) {
      const leave = (): void => settle(() => reject(way.error(way.signal.reason)))
      way.signal.addEventListener('abort', leave, { once: true })
      releases.push(() => way.signal.removeEventListener('abort', leave))
    }
    if (deadline !== undefined) {
      const look = (): void => {
        const moreMs = deadline.moreMs?.() ?? 0
        if (moreMs > 0) timer = setTimeout(look, moreMs)
        else settle(() => reject(deadline.error()))
      }
      let timer = setTimeout(look, deadline.afterMs)
      releases.push(() => clearTimeout(timer))
    }
    const operation = async (): Promise<T> => start()
    operation().then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error as Error)),
    )
  })
}

/** Resolve after `ms` unless a way out opens first. The timer never keeps the process alive. */
export function pause(ms: number, ways: readonly WayOut[] = []): Promise<void> {
  return after(ms, ways, (timer) => timer.unref())
}

/**
 * As `pause`, for a wait that something is done after: a process that has nothing else to do stays for it,
 * instead of ending in the middle of its work.
 */
export function rest(ms: number, ways: readonly WayOut[] = []): Promise<void> {
  return after(ms, ways, () => undefined)
}

async function after(
  ms: number,
  ways: readonly WayOut[],
  prepare: (timer: NodeJS.Timeout) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  try {
    await race(
      () =>
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, ms)
          prepare(timer)
        }),
      ways,
    )
  } finally {
    clearTimeout(timer)
  }
}
