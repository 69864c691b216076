/**
 * How long an answer is waited for. Before the end of it the machine is asked for a sign of life, so that whoever
 * waits hears within the same time that the whole line is dead, where it is.
 */
import type { Deadline } from '../../base/race.ts'
import type { Owner } from './exec.ts'

/** A machine that has been silent answers within these milliseconds, or not at all. */
export const PROOF_MS = 5000
/** Of a short limit that part is left for the sign of life. */
const PROOF_PART = 1 / 3

/** After how many milliseconds of a limit the line is suspected. */
export function suspectedAfter(limitMs: number): number {
  return limitMs - Math.min(PROOF_MS, limitMs * PROOF_PART)
}

/**
 * @param limitMs - milliseconds. @param moreMs - as in `Deadline`, asked when the limit is reached.
 */
export function patience(
  owner: Pick<Owner, 'suspect'>,
  limitMs: number,
  error: () => Error,
  moreMs: () => number = () => 0,
): Deadline {
  const earlyMs = suspectedAfter(limitMs)
  let isSuspected = false
  return {
    afterMs: earlyMs,
    moreMs: () => {
      if (isSuspected) return moreMs()
      isSuspected = true
      void owner.suspect(earlyMs)
      return limitMs - earlyMs
    },
    error,
  }
}
