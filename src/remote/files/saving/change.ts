/** What a change of a file asks for, and what it gives back. */
import type { RemotePath } from '../../../base/remote-path.ts'
import { decodeText, withUnixLineEnds } from '../text.ts'
import { FileError } from '../errors.ts'
import type { Caller } from '../memory/handover.ts'
import type { Shown } from '../read.ts'

/** What a write requires of the file that is there. */
export type WriteGuard =
  | { readonly kind: 'none' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'version'; readonly version: string }

/** @throws FileError `sandbox-denied` for a canonical path that may not be changed. */
export type Fence = (path: RemotePath) => void

export interface ChangeOptions {
  readonly signal?: AbortSignal | undefined
  /** Undefined: everything may be changed. */
  readonly fence?: Fence | undefined
  /** As for reading. */
  readonly caller?: Caller | undefined
}

export interface WriteOutcome {
  readonly created: boolean
  readonly version: string
  /** LF-normalised text before, or null: new, binary, too large to compare. */
  readonly before: string | null
  /** LF-normalised text after. */
  readonly after: string
}

export function stale(file: Shown, verb: string): FileError {
  return new FileError(`cannot ${verb} "${file.shown}": file changed since it was read`, 'stale')
}

export function alreadyThere(file: Shown): FileError {
  return new FileError(`cannot overwrite existing "${file.shown}" without reading it first`, 'exists')
}

/** Text for a diff, or null for what is not text. */
export function asDiffBasis(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null
  try {
    return withUnixLineEnds(decodeText(bytes, 'read', ''))
  } catch (error) {
    if (error instanceof FileError) return null
    throw error
  }
}
