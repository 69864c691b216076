/**
 * A terminal's bytes as text a model can read: control sequences gone, and what a line said last kept
 * where a program wrote over it. The order of the output stays; no screen is drawn.
 */
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'

/** An escape sequence whose end has not come yet. */
const UNFINISHED = /\u001b(?:\[[0-9;:?<=>!]*[ -/]*|[()*+#%]|\][^\u0007\u001b]*\u001b?)?$/

/** Sequences with private parameters (`ESC [ > 4 ; 2 m`), which the library leaves half in the text. */
const PRIVATE_SEQUENCE = /\u001b\[[<=>?!][0-?]*[ -/]*[@-~]/g

export class TerminalText {
  readonly #decoder = new StringDecoder('utf8')
  readonly #most: number
  /** In the order they came; joined only to be read, since a terminal's chunks are small and many. */
  #parts: string[] = []
  #length = 0
  #dropped = 0

  /** @param most - characters kept until they are read; older ones go first. */
  constructor(most: number) {
    this.#most = most
  }

  push(chunk: Buffer): void {
    const text = this.#decoder.write(chunk)
    if (text === '') return
    this.#parts.push(text)
    this.#length += text.length
    const [oldest = ''] = this.#parts
    // What is gone makes room for twice the most, so that the array is not moved for each chunk.
    if (this.#length - oldest.length >= 2 * this.#most) this.#forget()
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** What is unread, left unread. */
  peek(): string {
    this.#forget()
    return readable(this.#parts.join(''))
  }

  /** What is unread, and how many characters before it were dropped. */
  take(): { readonly text: string; readonly dropped: number } {
    this.#forget()
    const raw = this.#parts.join('')
    const unfinished = UNFINISHED.exec(raw)?.[0] ?? ''
    const text = readable(raw.slice(0, raw.length - unfinished.length))
    const dropped = this.#dropped
    this.#parts = unfinished === '' ? [] : [unfinished]
    this.#length = unfinished.length
    this.#dropped = 0
    return { text, dropped }
  }

  /** Leave only the newest. */
  #forget(): void {
    const over = this.#length - this.#most
    if (over <= 0) return
    this.#parts = [this.#parts.join('').slice(over)]
    this.#length = this.#most
    this.#dropped += over
  }
}

/** What overwriting left of each line. */
export function readable(raw: string): string {
  return stripVTControlCharacters(raw.replace(PRIVATE_SEQUENCE, ''))
    .split('\n')
    .map((line) => withBackspaces(lastWritten(line)))
    .join('\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '')
}

/** A carriage return begins the line again; one at the end only ends it. */
function lastWritten(line: string): string {
  const trimmed = line.replace(/\r+$/, '')
  return trimmed.slice(trimmed.lastIndexOf('\r') + 1)
}

function withBackspaces(line: string): string {
  if (!line.includes('\b')) return line
  const characters: string[] = []
  for (const character of line) {
    if (character === '\b') characters.pop()
    else characters.push(character)
  }
  return characters.join('')
}
