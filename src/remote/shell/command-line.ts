/**
 * How a POSIX script reaches a machine whatever its login shell is. sshd hands our command line to the
 * user's login shell (bash, fish, tcsh, …); all of these understand `exec /bin/sh -c '…'` alike as long
 * as the quoted text holds none of the characters they treat differently.
 */
import { bytesOfText } from '../../base/name-bytes.ts'
import { quote, quoteAll, type ShellWord } from '../../base/shell-word.ts'

/**
 * What is known of the login shell: `posix` shells take every character literally between single
 * quotes; the others give meaning to `!`, `\` or line ends there, and `unknown` is treated like them.
 */
export type LoginShell = 'posix' | 'foreign' | 'unknown'

/**
 * Longest command line that is sent as such. dropbear ends the connection on very long ones and the
 * Windows shells stop at 8191 characters; longer scripts go through standard input instead.
 */
const LONGEST_LINE = 6000

/** The same for what must be sent as such; dropbear's own end is at 9000. */
export const LONGEST_LINE_EVER = 8500

/** Characters that every shell we know passes through single quotes unchanged. */
const PLAIN = /[A-Za-z0-9 _.,:;=@+/#~^*?|&<>()[\]{}-]/

/** How to start a script: the command line, and what must then be sent first on standard input. */
export interface Start {
  readonly commandLine: string
  readonly preamble: string
}

/**
 * Two words as they are typed between single quotes, and as a shell that takes everything literally there
 * passes them on. fish makes one of two backslashes, csh takes a backslash before `!` away.
 */
const TELLING = { typed: String.raw`'\\' '\!'`, literal: String.raw`\\ \!` } as const

/**
 * Start a script of which nothing is sent but the mark that it prints: `$1`, and `$2` and `$3` are the words
 * that tell how the login shell quotes, for `quotingOf`. Nothing is known of the login shell yet.
 */
export function startProbe(script: string, mark: string): Start {
  return { commandLine: `${encode(script)} presence ${mark} ${TELLING.typed}`, preamble: '' }
}

/** @param words - what arrived of the two telling words, with a space between them. */
export function quotingOf(words: string): LoginShell {
  return words === TELLING.literal ? 'posix' : 'foreign'
}

/**
 * Start `script` with positional parameters `$1…`.
 * @param args - passed literally, whatever characters they hold.
 * @param longest - command lines that are longer go through standard input.
 */
export function startScript(
  script: string,
  args: readonly string[],
  loginShell: LoginShell,
  longest = LONGEST_LINE,
): Start {
  const words: ShellWord = quoteAll(['presence', ...args])
  if (loginShell === 'posix') {
    const commandLine = `exec /bin/sh -c ${quote(script)} ${words}`
    // ssh2 sends command lines as UTF-8.
    if (commandLine.length <= longest && commandLine.isWellFormed()) return { commandLine, preamble: '' }
  }
  const whole = `set -- ${quoteAll(args)}; ${script}`
  const encoded = encode(whole)
  if (encoded.length <= longest) return { commandLine: encoded, preamble: '' }
  return {
    commandLine: `exec /bin/sh -c 'IFS= read -r l; eval "$l"'`,
    preamble: `${oneLine(whole)}\n`,
  }
}

/**
 * The same script on one line, for shells that read it line by line. Line ends inside quoted words
 * become a variable; those between commands become `;`-free separators by way of `eval`.
 */
export function oneLine(script: string): string {
  // `eval` of a string whose line ends come from printf keeps every line end where it was.
  return script.includes('\n') ? `eval "$(printf "${octal(script)}")"` : script
}

/** Runs `script`, spelled only in characters that every login shell takes alike. */
function encode(script: string): string {
  return `exec /bin/sh -c 'eval "$(printf "${octal(script)}")"'`
}

/** `printf` format that prints `text`, spelled only in characters that no shell interprets. */
function octal(text: string): string {
  let format = ''
  for (const byte of bytesOfText(text)) {
    const character = String.fromCharCode(byte)
    format += PLAIN.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`
  }
  return format
}
