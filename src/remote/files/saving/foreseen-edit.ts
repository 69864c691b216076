/**
 * An edit worked out before the file is looked at, from what it held when it was seen under the version that the
 * edit demands. It is made only if the file turns out to hold the same now: so its new content can be written while
 * the present one is still read.
 */
import type { ContentMemory } from '../memory/content-memory.ts'
import type { Contents } from '../memory/contents.ts'
import { FileError } from '../errors.ts'
import type { Shown } from '../read.ts'
import type { LiteralEdit } from '../text.ts'
import { edited, type Edited } from './edited.ts'

export interface ForeseenEdit {
  /** What the file has to hold. */
  readonly held: Buffer
  readonly edited: Edited
}

/** @returns undefined when that is not known, or cannot be edited so: whoever looks has the words for it. */
export function foreseeEdit(
  file: Shown,
  edit: LiteralEdit,
  version: string,
  { contents, memory }: { readonly contents: Contents; readonly memory: ContentMemory },
): ForeseenEdit | undefined {
  const held = contents.last(file.path, version)?.content
  // Another content may have been seen under this version since.
  if (held === undefined || !memory.agrees(file.path, version, held)) return undefined
  try {
    return { held, edited: edited(file, held, edit) }
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}
