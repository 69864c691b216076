/**
 * Typed errors become HTTP answers here and nowhere else. A message reaches the page only when its
 * type says it was written for a person; everything else becomes `internal` and goes to the log.
 */
import { CancelledError, PresenceError } from '../base/failure.ts'
import { PlaceError } from '../places/errors.ts'
import { ConnectError, type SshErrorCode } from '../ssh/errors.ts'
import type { ErrorCode, ErrorView } from '../wire/api.ts'
import { jsonResponse, type PanelResponse } from './request.ts'

/** The request itself is refused; nothing was asked of the core. */
export class RequestError extends PresenceError {
  readonly code: ErrorCode
  readonly headers: Readonly<Record<string, string>>

  constructor(
    message: string,
    code: ErrorCode,
    details: { headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(message, 'refused', { cause: details.cause })
    this.code = code
    this.headers = details.headers ?? {}
  }
}

const STATUS: Readonly<Record<ErrorCode, number>> = {
  'bad-request': 400,
  'bad-path': 400,
  forbidden: 403,
  'permission-denied': 403,
  'unknown-route': 404,
  'not-found': 404,
  'unknown-machine': 404,
  'unknown-workspace': 404,
  'method-not-allowed': 405,
  'too-slow': 408,
  'not-a-directory': 409,
  'not-a-file': 409,
  'too-large': 413,
  'not-json': 415,
  internal: 500,
  'bad-config': 502,
  unsupported: 502,
  unreachable: 502,
  'host-key': 502,
  auth: 502,
  cancelled: 503,
  unavailable: 503,
  timeout: 504,
}

/** The answer for anything a handler threw; `report` hears of faults that are Presence's own. */
export function failureResponse(error: unknown, report: (fault: unknown) => void): PanelResponse {
  const view = errorViewOf(error)
  if (view.error.code === 'internal') {
    try {
      report(error)
    } catch (reporterFailure) {
      queueMicrotask(() => process.emitWarning(`presence panel: the log refused: ${String(reporterFailure)}`))
    }
  }
  return jsonResponse(STATUS[view.error.code], view, error instanceof RequestError ? error.headers : {})
}

export function errorViewOf(error: unknown): ErrorView {
  if (!(error instanceof PresenceError)) {
    return {
      error: {
        code: 'internal',
        message: 'Presence itself failed; the terminal that DSH runs in shows the details.',
      },
    }
  }
  const machine = error.machine === undefined ? {} : { machine: error.machine }
  const stage = error instanceof ConnectError ? { stage: error.stage } : {}
  return { error: { code: codeOf(error), message: error.message, ...machine, ...stage } }
}

function codeOf(error: PresenceError): ErrorCode {
  if (error instanceof RequestError || error instanceof PlaceError) return error.code
  if (error instanceof ConnectError) return connectCode(error)
  if (error instanceof CancelledError) return 'cancelled'
  switch (error.family) {
    case 'transport':
      return 'unreachable'
    case 'cancelled':
      return 'timeout'
    case 'refused':
      return 'unavailable'
  }
}

const CONNECT_CODE: Readonly<Record<SshErrorCode, ErrorCode>> = {
  'unknown-machine': 'unknown-machine',
  'bad-config': 'bad-config',
  unsupported: 'unsupported',
  unreachable: 'unreachable',
  'connect-timeout': 'timeout',
  'not-ssh': 'unreachable',
  crowded: 'unavailable',
  'no-common-algorithm': 'unsupported',
  'host-key-unknown': 'host-key',
  'host-key-changed': 'host-key',
  'host-key-revoked': 'host-key',
  'auth-failed': 'auth',
  'question-unanswered': 'auth',
  closed: 'unavailable',
}

function connectCode(error: ConnectError): ErrorCode {
  // The same code covers a host key and a passphrase that nobody was there to answer for.
  if (error.code === 'question-unanswered' && error.stage === 'host-key') return 'host-key'
  return CONNECT_CODE[error.code]
}
