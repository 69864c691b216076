/** The line `ls -l` would print for an entry: what a client shows to a person, never parses. */
import type { Stats } from 'node:fs'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

export function longName(name: Buffer, entry: Stats): Buffer {
  const columns = [
    letter(entry) + permissions(entry.mode),
    String(entry.nlink).padStart(4),
    String(entry.uid).padEnd(8),
    String(entry.gid).padEnd(8),
    String(entry.size).padStart(8),
    date(entry.mtime),
    '',
  ]
  return Buffer.concat([Buffer.from(columns.join(' ')), name])
}

function letter(entry: Stats): string {
  if (entry.isDirectory()) return 'd'
  if (entry.isSymbolicLink()) return 'l'
  if (entry.isFIFO()) return 'p'
  if (entry.isSocket()) return 's'
  if (entry.isCharacterDevice()) return 'c'
  return entry.isBlockDevice() ? 'b' : '-'
}

function permissions(mode: number): string {
  const triple = (bits: number): string =>
    ((bits & 4) === 0 ? '-' : 'r') + ((bits & 2) === 0 ? '-' : 'w') + ((bits & 1) === 0 ? '-' : 'x')
  return triple(mode >> 6) + triple(mode >> 3) + triple(mode)
}

function date(when: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const time = `${two(when.getHours())}:${two(when.getMinutes())}`
  return `${MONTHS[when.getMonth()]} ${String(when.getDate()).padStart(2)} ${time}`
}
