/** The statuses of SFTP version 3, and which of them OpenSSH's server makes of a system error. */
import { packet, string, TYPE, uint32 } from './wire.ts'

export const STATUS = {
  ok: 0,
  eof: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  badMessage: 5,
  unsupported: 8,
} as const

export type Status = (typeof STATUS)[keyof typeof STATUS]

const TEXT: Readonly<Record<Status, string>> = {
  [STATUS.ok]: 'Success',
  [STATUS.eof]: 'End of file',
  [STATUS.noSuchFile]: 'No such file',
  [STATUS.permissionDenied]: 'Permission denied',
  [STATUS.failure]: 'Failure',
  [STATUS.badMessage]: 'Bad message',
  [STATUS.unsupported]: 'Operation unsupported',
}

/** A request that is to be answered with a status other than what its system error would give. */
export class StatusError extends Error {
  readonly status: Status

  constructor(status: Status) {
    super(TEXT[status])
    this.status = status
  }
}

/** sftp-server.c, errno_to_portable: everything without a line there is a plain failure. */
const BY_ERRNO: Readonly<Record<string, Status>> = {
  ENOENT: STATUS.noSuchFile,
  ENOTDIR: STATUS.noSuchFile,
  EBADF: STATUS.noSuchFile,
  ELOOP: STATUS.noSuchFile,
  EPERM: STATUS.permissionDenied,
  EACCES: STATUS.permissionDenied,
  EFAULT: STATUS.permissionDenied,
  ENAMETOOLONG: STATUS.badMessage,
  EINVAL: STATUS.badMessage,
  ENOSYS: STATUS.unsupported,
}

/** @throws what is not a system error: that is a bug of the rig, not an answer. */
export function statusOf(failure: unknown): Status {
  if (failure instanceof StatusError) return failure.status
  const code = (failure as NodeJS.ErrnoException).code
  if (code === undefined || (failure as NodeJS.ErrnoException).errno === undefined) throw failure
  return BY_ERRNO[code] ?? STATUS.failure
}

export function statusPacket(id: Buffer, status: Status): Buffer {
  return packet(TYPE.status, id, uint32(status), string(TEXT[status]), string(''))
}
