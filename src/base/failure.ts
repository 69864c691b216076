/**
 * The root of every error that Presence raises on purpose.
 *
 * Three families must never be confused: the machine said no, the line broke (outcome unknown), and
 * the caller gave up (cancelled or out of time). Each layer has its own closed code union; `family`
 * is what a layer above may decide on without knowing those codes.
 */
export type FailureFamily = 'refused' | 'transport' | 'cancelled'

export class PresenceError extends Error {
  readonly family: FailureFamily
  /** The machine the failure happened on, where one is involved. */
  readonly machine: string | undefined

  constructor(message: string, family: FailureFamily, details: { machine?: string; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = new.target.name
    this.family = family
    this.machine = details.machine
  }
}

/** The caller's own signal ended the operation. Nothing is known to be wrong with the machine. */
export class CancelledError extends PresenceError {
  constructor(what: string, cause?: unknown) {
    super(`${what}: cancelled`, 'cancelled', { cause })
  }
}

/** Text of any thrown value, for a message; never throws itself. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : `non-error thrown: ${Object.prototype.toString.call(error)}`
}

/** The `code` field that Node's system errors carry (`ENOENT`, `ECONNRESET`, …). */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return undefined
}
