/**
 * Every way an SSH connection or one request on it can fail, typed where it is understood. Nothing
 * above `ssh/` looks at ssh2's errors or message texts.
 */
import { PresenceError, type FailureFamily } from '../base/failure.ts'

/** How far a connection attempt had come. */
export type Stage =
  'config' | 'dns' | 'tcp' | 'proxy' | 'banner' | 'key-exchange' | 'host-key' | 'auth' | 'probe' | 'ready'

export type SshErrorCode =
  | 'unknown-machine'
  | 'bad-config'
  | 'unsupported'
  | 'unreachable'
  | 'connect-timeout'
  | 'not-ssh'
  /** Closed before the server said who it is: it has too many connections, or does not want ours. */
  | 'crowded'
  | 'no-common-algorithm'
  | 'host-key-unknown'
  | 'host-key-changed'
  | 'host-key-revoked'
  | 'auth-failed'
  | 'question-unanswered'
  | 'closed'

/** A connection could not be made. Nothing was asked of the machine. */
export class ConnectError extends PresenceError {
  readonly code: SshErrorCode
  readonly stage: Stage

  constructor(
    message: string,
    code: SshErrorCode,
    details: { machine: string; stage: Stage; cause?: unknown },
  ) {
    super(`${details.machine}: ${message}`, 'refused', details)
    this.code = code
    this.stage = details.stage
  }
}

/** The server says itself that too many are coming in at once: a moment later it takes one more. */
export class CrowdedError extends ConnectError {}

/**
 * A live connection broke, or did not answer in time. `outcomeUnknown` tells whether a request that
 * changes something had been sent: it may or may not have happened, and must not be repeated.
 */
export class LinkLostError extends PresenceError {
  readonly outcomeUnknown: boolean

  constructor(message: string, details: { machine: string; outcomeUnknown?: boolean; cause?: unknown }) {
    const unknown = details.outcomeUnknown ?? false
    super(`${details.machine}: ${message}${unknown ? ' (outcome unknown)' : ''}`, 'transport', details)
    this.outcomeUnknown = unknown
  }
}

/** SFTP was started and says nothing; the connection may be alive. */
export class SftpSilentError extends LinkLostError {}

/** The machine is reachable but this channel or service is not to be had on it. */
export class ChannelError extends PresenceError {
  readonly code: 'no-sftp' | 'no-exec' | 'refused'

  constructor(
    message: string,
    code: ChannelError['code'],
    details: { machine: string; family?: FailureFamily; cause?: unknown },
  ) {
    super(`${details.machine}: ${message}`, details.family ?? 'refused', details)
    this.code = code
  }
}

/** The statuses of SFTP version 3 that a server answers with (draft-ietf-secsh-filexfer-02, section 7). */
export type SftpStatus =
  'eof' | 'no-such-file' | 'permission-denied' | 'failure' | 'bad-message' | 'unsupported' | 'other'

/** The machine's SFTP server answered a request with a failure status. */
export class SftpStatusError extends PresenceError {
  readonly status: SftpStatus
  readonly operation: string

  constructor(
    status: SftpStatus,
    operation: string,
    details: { machine: string; message: string; cause?: unknown },
  ) {
    super(`${details.machine}: ${operation}: ${details.message}`, 'refused', details)
    this.status = status
    this.operation = operation
  }
}
