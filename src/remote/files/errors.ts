/**
 * What can be wrong with a file on a machine, as the machine said it or as a rule of ours found it.
 * The codes are our own; the seam maps them to the host's once. Lost connections are not here.
 */
import { PresenceError } from '../../base/failure.ts'
import { SftpStatusError } from '../../ssh/errors.ts'

export type FileErrorCode =
  | 'not-found'
  | 'not-directory'
  | 'not-regular'
  | 'not-text'
  | 'too-large'
  | 'permission-denied'
  /** The machine takes no such name (too long, a character that is not allowed), or it may mean several files. */
  | 'bad-name'
  /** The file is not the version that the caller saw. */
  | 'stale'
  /** Something exists where only a new file was to be made. */
  | 'exists'
  | 'ambiguous-edit'
  | 'edit-not-found'
  /** The session may not change this file. */
  | 'sandbox-denied'
  | 'io'

export class FileError extends PresenceError {
  readonly code: FileErrorCode

  constructor(message: string, code: FileErrorCode, details: { machine?: string; cause?: unknown } = {}) {
    super(message, 'refused', details)
    this.code = code
  }
}

/**
 * A failed SFTP request as a `FileError`; errors of other kinds pass through unchanged.
 * @param doing - e.g. `cannot read "/srv/x"`.
 */
export function asFileError(error: unknown, doing: string): unknown {
  if (!(error instanceof SftpStatusError)) return error
  const details = { machine: error.machine ?? '', cause: error }
  switch (error.status) {
    case 'no-such-file':
      return new FileError(`${doing}: not found`, 'not-found', details)
    case 'permission-denied':
      return new FileError(`${doing}: permission denied`, 'permission-denied', details)
    case 'bad-message':
      return new FileError(`${doing}: the name is too long or not allowed there`, 'bad-name', details)
    case 'unsupported':
      return new FileError(`${doing}: the server does not support this`, 'io', details)
    case 'eof':
    case 'failure':
    case 'other':
      return new FileError(`${doing}: the server reports a failure (${error.message})`, 'io', details)
  }
}

/** True when the machine answered that there is no such file; a lost connection is never that. */
export function isAbsent(error: unknown): boolean {
  return error instanceof SftpStatusError && error.status === 'no-such-file'
}
