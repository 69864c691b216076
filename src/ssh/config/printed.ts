/**
 * A configuration as `ssh -G` prints it: keywords in lower case, each with its values. The common form of
 * both sources of settings, that program and our own evaluation.
 *
 * HostName, UserKnownHostsFile and IdentityAgent come expanded; every other value is as configured.
 */
export type Printed = ReadonlyMap<string, readonly string[]>

const LISTS = new Set(['userknownhostsfile', 'globalknownhostsfile', 'revokedhostkeys'])

/** Read the output of `ssh -G`. */
export function readPrinted(output: string): Printed {
  const values = new Map<string, string[]>()
  for (const line of output.split(/\r?\n/)) {
    const at = line.indexOf(' ')
    if (at <= 0) continue
    const keyword = line.slice(0, at).toLowerCase()
    const value = line.slice(at + 1)
    const known = values.get(keyword) ?? []
    known.push(...(LISTS.has(keyword) ? splitPaths(value) : [value]))
    values.set(keyword, known)
  }
  return values
}

/**
 * Paths are printed on one line without quotes, and the home of a Windows user may well hold a blank. So a
 * new path begins only where an absolute one does, unless the first is relative already.
 */
function splitPaths(value: string): string[] {
  const absolute = /^(?:[/~]|[A-Za-z]:[\\/]|\\\\)/
  if (!absolute.test(value)) return value === 'none' ? [] : value.split(' ').filter((path) => path !== '')
  return value.split(/ (?=[/~]|[A-Za-z]:[\\/]|\\\\)/)
}

/** The first value of a keyword. */
export function firstOf(printed: Printed, keyword: string): string | undefined {
  return printed.get(keyword)?.[0]
}
