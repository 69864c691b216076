/**
 * What counts as text and how lines end, exactly as the host's local file system has it: strict UTF-8,
 * no NUL byte near the beginning, LF in memory and the file's own line ends on disk.
 */
import { FileError } from './errors.ts'

/** How far into a file a NUL byte makes it binary for reading. */
export const BINARY_SAMPLE_BYTES = 8192
const LINE_END_SAMPLE_CHARACTERS = 4096
/** Longer strings get memory of their own from the system, which costs more than the decoding (measured: 7 ms a MiB). */
const DECODED_BYTES = 64 * 1024

export type LineEnd = '\n' | '\r\n'

/** @throws FileError `not-text`. */
export function decodeText(bytes: Uint8Array, verb: string, shown: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new FileError(`cannot ${verb} "${shown}": invalid UTF-8 text`, 'not-text', { cause: error })
  }
}

/** Decodes chunks of one text as they come; characters may be split between them. */
export class TextStream {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  readonly #shown: string
  #sampled = 0

  constructor(shown: string) {
    this.#shown = shown
  }

  /** @returns its parts in order. @throws FileError `not-text`. */
  *decode(chunk: Uint8Array): Generator<string, void, undefined> {
    if (this.#sampled < BINARY_SAMPLE_BYTES) {
      if (chunk.subarray(0, BINARY_SAMPLE_BYTES - this.#sampled).includes(0)) {
        throw new FileError(`cannot read "${this.#shown}": binary file`, 'not-text')
      }
      this.#sampled += chunk.length
    }
    for (let from = 0; from < chunk.length; from += DECODED_BYTES) {
      yield this.#decoded(chunk.subarray(from, from + DECODED_BYTES))
    }
  }

  /** There is no more. @throws FileError `not-text` when a character is cut off. */
  end(): string {
    return this.#decoded(undefined)
  }

  #decoded(bytes: Uint8Array | undefined): string {
    try {
      return bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true })
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      throw new FileError(`cannot read "${this.#shown}": invalid UTF-8 text`, 'not-text', { cause: error })
    }
  }
}

export function withUnixLineEnds(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

/** The line end that most lines near the beginning have. */
export function lineEndOf(text: string): LineEnd {
  const sample = text.slice(0, LINE_END_SAMPLE_CHARACTERS)
  const all = sample.split('\n').length - 1
  const windows = sample.split('\r\n').length - 1
  return windows > all - windows ? '\r\n' : '\n'
}

export function withLineEnds(text: string, lineEnd: LineEnd): string {
  return lineEnd === '\n' ? text : withUnixLineEnds(text).replaceAll('\n', '\r\n')
}

export interface LiteralEdit {
  readonly oldString: string
  readonly newString: string
  /** How many matches there must be; all of them are replaced. */
  readonly matches: number | 'any'
}

/** The text to replace occurs, but not as often as it has to. Each caller has advice of its own. */
export class MatchCountError extends FileError {
  readonly found: number

  constructor(shown: string, found: number) {
    super(
      `old_string matched ${found} times in "${shown}"; provide a more specific old_string or set replace_all to true`,
      'ambiguous-edit',
    )
    this.found = found
  }
}

/**
 * Replace a literal text in LF-normalised content.
 * @throws FileError `edit-not-found`; MatchCountError.
 */
export function applyEdit(content: string, edit: LiteralEdit, shown: string): string {
  const wanted = withUnixLineEnds(edit.oldString)
  if (wanted.length === 0) throw new FileError('old_string must be a non-empty string', 'edit-not-found')
  const parts = content.split(wanted)
  const matches = parts.length - 1
  if (matches === 0) throw new FileError(`old_string was not found in "${shown}"`, 'edit-not-found')
  if (edit.matches !== 'any' && matches !== edit.matches) throw new MatchCountError(shown, matches)
  return parts.join(withUnixLineEnds(edit.newString))
}
