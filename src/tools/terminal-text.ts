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
  #raw = ''
  #dropped = 0

  /** @param most - characters kept until they are read; older ones go first. */
  constructor(most: number) {
    this.#most = most
  }

  push(chunk: Buffer): void {
    this.#raw += this.#decoder.write(chunk)
    const over = this.#raw.length - this.#most
    if (over <= 0) return
    this.#dropped += over
    this.#raw = this.#raw.slice(over)
  }

  get isEmpty(): boolean {
    return this.#raw === ''
  }

  /** What is unread, left unread. */
  peek(): string {
    return readable(this.#raw)
  }

  /** What is unread, and how many characters before it were dropped. */
  take(): { readonly text: string; readonly dropped: number } {
    const unfinished = UNFINISHED.exec(this.#raw)?.[0] ?? ''
    const text = readable(this.#raw.slice(0, this.#raw.length - unfinished.length))
    const dropped = this.#dropped
    this.#raw = unfinished
    this.#dropped = 0
    return { text, dropped }
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
