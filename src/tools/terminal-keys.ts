/** What keys send, as xterm does (ctlseqs, normal cursor keys). */
const KEYS = {
  none: '',
  enter: '\r',
  tab: '\t',
  escape: '\u001b',
  backspace: '\u007f',
  delete: '\u001b[3~',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  home: '\u001b[H',
  end: '\u001b[F',
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

export type TerminalKey = keyof typeof KEYS

export const TERMINAL_KEYS = Object.keys(KEYS) as TerminalKey[]

/** Text as typed: a line feed is the Enter key. */
export function typed(text: string, key: TerminalKey): string {
  return text.replace(/\r?\n/g, '\r') + KEYS[key]
}
