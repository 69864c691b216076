/**
 * The words of one line of an ssh_config file, as OpenSSH splits them. No meaning of any keyword here.
 * Why not the `ssh-config` library: docs/decisions/ssh-config-lexer.md.
 */

/** A line that says something: its keyword in lower case, and the rest of the line as written. */
export interface Statement {
  readonly keyword: string
  readonly rest: string
}

// A keyword ends at white space, or at one `=` with white space around it; or where a quote in it ends.
const PLAIN = /^([^ \t\r\n"=]+)(?:[ \t\r\n]+=?|=|$)[ \t\r\n]*(.*)$/s
const QUOTED = /^([^ \t\r\n"=]*)"([^"]*)"[ \t\r\n]*(.*)$/s

/** @returns undefined for an empty line, a comment, and a line that `ssh` finds no keyword in. */
export function readStatement(line: string): Statement | undefined {
  const text = line.replace(/[ \t\r\n\f]+$/, '').replace(/^[ \t\r\n]*(?:=[ \t\r\n]*)?/, '')
  if (text === '' || text.startsWith('#')) return undefined
  const plain = PLAIN.exec(text)
  if (plain !== null) return { keyword: (plain[1] ?? '').toLowerCase(), rest: plain[2] ?? '' }
  const quoted = QUOTED.exec(text)
  if (quoted === null) return undefined
  return { keyword: `${quoted[1] ?? ''}${quoted[2] ?? ''}`.toLowerCase(), rest: quoted[3] ?? '' }
}

/**
 * The arguments in the rest of a line: split at blanks and tabs, quotes of either kind removed wherever
 * they stand, `\` before a quote, a `\` or (unquoted) a blank removed, and everything from a word that
 * begins with `#` dropped.
 * @returns undefined when a quote is never closed.
 */
export function splitWords(rest: string): string[] | undefined {
  const words: string[] = []
  let at = 0
  while (at < rest.length) {
    const first = rest[at]
    if (first === ' ' || first === '\t') {
      at += 1
      continue
    }
    if (first === '#') break
    const word = readWord(rest, at)
    if (word === undefined) return undefined
    words.push(word.text)
    at = word.end
  }
  return words
}

function readWord(rest: string, start: number): { text: string; end: number } | undefined {
  let text = ''
  let quote: string | undefined
  let at = start
  for (; at < rest.length; at++) {
    const char = rest.charAt(at)
    const next = rest.charAt(at + 1)
    if (char === '\\') {
      const escapes = next === "'" || next === '"' || next === '\\' || (quote === undefined && next === ' ')
      text += escapes ? next : char
      if (escapes) at += 1
    } else if (quote === undefined && (char === ' ' || char === '\t')) break
    else if (quote === undefined && (char === '"' || char === "'")) quote = char
    else if (char === quote) quote = undefined
    else text += char
  }
  return quote === undefined ? { text, end: at } : undefined
}
