/** A literal edit applied to a file's bytes: what the file held, and what it is to hold. */
import { FileError } from '../errors.ts'
import type { Shown } from '../read.ts'
import {
  applyEdit,
  decodeText,
  lineEndOf,
  withLineEnds,
  withUnixLineEnds,
  type LiteralEdit,
} from '../text.ts'

export interface Edited {
  /** LF-normalised, as is `after`. */
  readonly before: string
  readonly after: string
  /** With the file's own line ends. */
  readonly content: Buffer
}

/** @throws FileError `not-text`, `edit-not-found`, `ambiguous-edit`. */
export function edited(file: Shown, bytes: Buffer, edit: LiteralEdit): Edited {
  if (bytes.includes(0)) throw new FileError(`cannot edit "${file.shown}": binary file`, 'not-text')
  const text = decodeText(bytes, 'edit', file.shown)
  const before = withUnixLineEnds(text)
  const after = applyEdit(before, edit, file.shown)
  return { before, after, content: Buffer.from(withLineEnds(after, lineEndOf(text)), 'utf8') }
}
