/** Setting several attributes in one request, as OpenSSH's server does it. */
import type { Attributes } from './wire.ts'

export interface Setters {
  readonly size: (size: number) => Promise<void>
  readonly mode: (mode: number) => Promise<void>
  readonly times: (atime: number, mtime: number) => Promise<void>
  readonly owner: (uid: number, gid: number) => Promise<void>
}

/** All of them are tried, in OpenSSH's order; the last failure is the answer. */
export async function setAttributes(wanted: Attributes, set: Setters): Promise<void> {
  const { size, mode, atime, mtime, uid, gid } = wanted
  let failure: unknown
  const attempt = async (setting: Promise<void>): Promise<void> => {
    await setting.catch((cause: unknown) => (failure = cause))
  }
  if (size !== undefined) await attempt(set.size(size))
  if (mode !== undefined) await attempt(set.mode(mode))
  if (atime !== undefined && mtime !== undefined) await attempt(set.times(atime, mtime))
  if (uid !== undefined && gid !== undefined) await attempt(set.owner(uid, gid))
  if (failure !== undefined) throw failure
}
