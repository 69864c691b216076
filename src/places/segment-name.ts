/**
 * The local folder name that stands for one remote path segment or machine name. POSIX systems can
 * hold every segment as it is. Windows cannot, so there the offending characters are written as `%XX`,
 * reversibly; `%` itself too, since it begins an escape.
 */

const REFUSED_BY_WINDOWS = /[%<>:"|?*\\/\u0000-\u001f]|[. ]$/g
/** Device names that Windows keeps for itself, with or without an extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i

export interface Spelling {
  readonly platform: NodeJS.Platform
  /**
   * Spell capitals as escapes too, for a folder that would otherwise be the same as another one on a
   * file system that ignores case.
   */
  readonly distinctCase?: boolean
}

/** The folder name of a segment; `unescapeSegment` is its inverse. */
export function escapeSegment(segment: string, spelling: Spelling): string {
  if (spelling.platform !== 'win32') return segment
  const refused = spelling.distinctCase === true ? /[%<>:"|?*\\/\u0000-\u001fA-Z]|[. ]$/g : REFUSED_BY_WINDOWS
  const escaped = segment.replace(refused, percent)
  return DEVICE.test(escaped) ? escaped.replace(/^./, percent) : escaped
}

export function unescapeSegment(name: string, platform: NodeJS.Platform): string {
  if (platform !== 'win32') return name
  return name.replace(/%([0-9A-F]{2})/gi, (_whole, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
