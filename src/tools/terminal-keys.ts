/** What keys send, as xterm does (ctlseqs: PC-style function keys, VT100 cursor key modes). */
const KEYS = {
  none: '',
  enter: '\r',
  tab: '\t',
  escape: '\u001b',
  backspace: '\u007f',
  delete: '\u001b[3~',
  'page-up': '\u001b[5~',
  'page-down': '\u001b[6~',
  'ctrl-a': '\u0001',
  'ctrl-c': '\u0003',
  'ctrl-d': '\u0004',
  'ctrl-e': '\u0005',
  'ctrl-l': '\u000c',
  'ctrl-r': '\u0012',
  'ctrl-u': '\u0015',
  'ctrl-x': '\u0018',
  'ctrl-z': '\u001a',
} as const

/** These follow the mode that the program has set. */
const CURSOR_KEYS = { up: 'A', down: 'B', right: 'C', left: 'D', home: 'H', end: 'F' } as const

export type TerminalKey = keyof typeof KEYS | keyof typeof CURSOR_KEYS

export const TERMINAL_KEYS = [...Object.keys(KEYS), ...Object.keys(CURSOR_KEYS)] as TerminalKey[]

/** Longer than the sequence that is looked for, less its last character. */
const SEAM = 8

/** Whether the program wants cursor keys as application keys, from what it printed. */
export class CursorKeyMode {
  #application = false
  #seam = ''

  push(chunk: Buffer): void {
    const text = this.#seam + chunk.toString('latin1')
    const last = [...text.matchAll(/\u001b\[\?1([hl])/g)].at(-1)?.[1]
    if (last !== undefined) this.#application = last === 'h'
    this.#seam = text.slice(-SEAM)
  }

  /** Text as typed, then a key; a line feed in the text is the Enter key. */
  typed(text: string, key: TerminalKey): string {
    const cursor = key in CURSOR_KEYS ? CURSOR_KEYS[key as keyof typeof CURSOR_KEYS] : undefined
    const pressed =
      cursor === undefined
        ? KEYS[key as keyof typeof KEYS]
        : `\u001b${this.#application ? 'O' : '['}${cursor}`
    return text.replace(/\r?\n/g, '\r') + pressed
  }
}
