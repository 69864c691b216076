/** Our errors in the host's own class and codes, mapped here once. The host tells them by `instanceof`. */
import { FsError, type FsErrorCode } from '@deepseek-ai/dsh-fs'
import { CancelledError, PresenceError } from '../base/failure.ts'
import { InvalidRemotePathError } from '../base/remote-path.ts'
import { FileError, type FileErrorCode } from '../remote/files/errors.ts'

const CODES: Readonly<Record<FileErrorCode, FsErrorCode>> = {
  'not-found': 'FS_NOT_FOUND',
  'not-directory': 'FS_NOT_DIRECTORY',
  'not-regular': 'FS_NOT_REGULAR_FILE',
  'not-text': 'FS_NOT_TEXT',
  'too-large': 'FS_TOO_LARGE',
  'permission-denied': 'FS_PERMISSION_DENIED',
  'bad-name': 'FS_IO_ERROR',
  stale: 'FS_STALE_VERSION',
  exists: 'FS_NOT_OBSERVED',
  'ambiguous-edit': 'FS_AMBIGUOUS_EDIT',
  'edit-not-found': 'FS_EDIT_NOT_FOUND',
  'sandbox-denied': 'FS_SANDBOX_DENIED',
  io: 'FS_IO_ERROR',
}

/** A transport failure is `FS_IO_ERROR` with the machine's name, never "not found". */
export function toFsError(error: unknown): unknown {
  if (error instanceof FsError) return error
  if (error instanceof FileError) return new FsError(error.message, CODES[error.code], { cause: error })
  if (error instanceof CancelledError) return new FsError(error.message, 'FS_ABORTED', { cause: error })
  if (error instanceof InvalidRemotePathError)
    return new FsError(error.message, 'FS_NOT_FOUND', { cause: error })
  if (error instanceof PresenceError) return new FsError(error.message, 'FS_IO_ERROR', { cause: error })
  return error
}

/** Run a remote operation, its failures in the host's terms. */
export async function inHostTerms<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    throw toFsError(error)
  }
}
