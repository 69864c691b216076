/** What is known of a watched path at one moment, and whether another look found it changed. */
import type { FileAttributes } from '../../../ssh/channel/sftp.ts'
import type { SftpStatusError } from '../../../ssh/errors.ts'
import { typeOf } from '../stat.ts'
import { plainVersion } from '../versions.ts'

export type Observation =
  | { readonly kind: 'absent' }
  /** The machine does not let us look. */
  | { readonly kind: 'refused'; readonly error: SftpStatusError }
  | {
      readonly kind: 'there'
      readonly folder: boolean
      /** Who told the token: `stat` to the nanosecond, or SFTP to the second. */
      readonly by: 'stat' | 'sftp'
      readonly token: string
      /** What both tellers know. */
      readonly common: string
    }

const DIRECTORY = 0o040000
const TYPE_BITS = 0o170000

/** @param token - as the formats in `versions.ts` print it: device, inode, size, two times, mode. */
export function seenByStat(token: string): Observation {
  const [, , size = '', mtime = '', , mode = ''] = token.split(':')
  const bits = Number.parseInt(mode, 16)
  return {
    kind: 'there',
    folder: (bits & TYPE_BITS) === DIRECTORY,
    by: 'stat',
    token,
    common: `${size}:${mtime.split('.', 1)[0] ?? ''}:${bits}`,
  }
}

export function seenBySftp(attributes: FileAttributes): Observation {
  const { size, mtime, mode } = attributes
  return {
    kind: 'there',
    folder: typeOf(mode) === 'directory',
    by: 'sftp',
    token: plainVersion(attributes),
    common: `${size}:${mtime}:${mode}`,
  }
}

/** A machine may tell by one way now and by the other then; that alone is no change. */
export function differs(before: Observation, now: Observation): boolean {
  if (before.kind !== 'there' || now.kind !== 'there') return before.kind !== now.kind
  return before.by === now.by ? before.token !== now.token : before.common !== now.common
}
