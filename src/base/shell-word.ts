/**
 * Quoting for a POSIX shell. A `ShellWord` can only come from `quote`, so text that was not quoted
 * cannot reach a command line by mistake.
 */
declare const shellWord: unique symbol
export type ShellWord = string & { readonly [shellWord]: true }

/** One literal word of a POSIX shell command, whatever characters it holds (NUL cannot be passed). */
export function quote(text: string): ShellWord {
  return `'${text.replaceAll("'", `'\\''`)}'` as ShellWord
}

export function quoteAll(words: readonly string[]): ShellWord {
  return words.map(quote).join(' ') as ShellWord
}
