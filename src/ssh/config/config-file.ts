/**
 * One configuration file as lines that say something. Keeps apart a file that is not there, which is
 * ordinary, and one that cannot be read, which is not.
 */
import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { messageOf, systemCode } from '../../base/failure.ts'
import { readStatement, splitWords, type Statement } from './lex.ts'

export interface Line extends Statement {
  /** `file:line`, for messages. */
  readonly where: string
  /** The arguments; undefined when a quote is never closed. */
  readonly words: readonly string[] | undefined
}

export type ConfigFile =
  | {
      readonly kind: 'read'
      readonly lines: readonly Line[]
      /** Somebody other than the user and root may write it, so `ssh` would not believe it. */
      readonly othersMayWrite: boolean
    }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string }

/** Anything that is not a regular file (a folder, `/dev/null`) reads as empty. */
export function readConfigFile(path: string): ConfigFile {
  try {
    const handle = openSync(path, 'r')
    try {
      const stats = fstatSync(handle)
      const text = stats.isFile() ? readFileSync(handle, 'utf8') : ''
      return { kind: 'read', lines: linesOf(path, text), othersMayWrite: othersMayWrite(stats) }
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' }
    return { kind: 'unreadable', why: messageOf(error) }
  }
}

function linesOf(path: string, text: string): Line[] {
  const lines: Line[] = []
  // Editors on Windows put a byte order mark before the first keyword.
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    const statement = readStatement(line)
    if (statement === undefined) continue
    lines.push({ ...statement, where: `${path}:${index + 1}`, words: splitWords(statement.rest) })
  }
  return lines
}

function othersMayWrite(stats: Stats): boolean {
  const self = process.getuid?.()
  if (self === undefined) return false
  return (stats.uid !== 0 && stats.uid !== self) || (stats.mode & 0o022) !== 0
}
