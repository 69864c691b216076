/**
 * Text from a server as a terminal may show it. Control characters could move the cursor over what stands
 * there already, change the terminal's settings or turn the direction of reading, so that a prompt looks
 * like another one's: they are shown as signs of themselves.
 */
const LONGEST = 4000

/** Line ends and tabs stay; what is longer than a person would read is cut. */
export function harmless(text: string): string {
  const shown = text
    .slice(0, LONGEST)
    .replace(/\r\n?/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (control) =>
      String.fromCharCode(0x2400 + control.charCodeAt(0)),
    )
    .replace(/\u007f/g, '\u2421')
    // C1 controls; marks, embeddings, overrides and isolates of direction; separators of lines and paragraphs.
    .replace(/[\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd')
  return text.length > LONGEST ? `${shown}…` : shown
}
