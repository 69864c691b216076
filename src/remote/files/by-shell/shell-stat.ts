/** What the machine's `stat` prints in the format of the helper's functions, as a `FileStat`. */
import { typeOf, type FileStat } from '../stat.ts'

const PERMISSIONS = 0o7777

/** @returns undefined for anything but a line in `STAT_FORMAT`. */
export function parseShellStat(line: string): FileStat | undefined {
  const [size, mode, uid, gid, token, ...more] = line.split(' ')
  if (token === undefined || more.length > 0) return undefined
  const bits = Number.parseInt(mode ?? '', 16)
  const numbers = [size, uid, gid].map(Number)
  if (![bits, ...numbers].every(Number.isSafeInteger)) return undefined
  const [bytes = 0, owner = 0, group = 0] = numbers
  return {
    type: typeOf(bits),
    size: bytes,
    mode: bits & PERMISSIONS,
    uid: owner,
    gid: group,
    version: `x:${token}`,
  }
}
