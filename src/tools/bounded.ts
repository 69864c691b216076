/** Keeping what the model reads within bounds, and saying so. */

/** Characters of one line that are shown. */
const LONGEST_LINE = 2000

/** @param length - characters of the whole line, when `line` is only its beginning. */
export function boundedLine(line: string, length: number = line.length): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}… (${length} characters)`
}

/** Head and tail of a text whose middle is left out. */
export function boundedText(text: string, most: number): { readonly text: string; readonly cut: boolean } {
  if (text.length <= most) return { text, cut: false }
  const half = Math.floor(most / 2)
  return {
    text: `${text.slice(0, half)}\n… ${text.length - 2 * half} characters left out …\n${text.slice(-half)}`,
    cut: true,
  }
}

/** A name in a line of its own: one with a line end or another control character is shown quoted. */
export function shownName(name: string): string {
  return /[\u0000-\u001f\u007f]/.test(name) ? JSON.stringify(name) : name
}

export function textBlock(text: string): { type: 'text'; text: string }[] {
  return [{ type: 'text', text }]
}
