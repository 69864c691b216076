/**
 * Why a search without ripgrep has no answer. Each is one line or a few, for whoever reads ripgrep's
 * standard error; the exit code is ripgrep's own for an error.
 */
export class SearchRefusal extends Error {
  override readonly name = 'SearchRefusal'
}

/** The pattern is none, in ripgrep's own words: hosts and models know this beginning. */
export function invalidPattern(pattern: string, why: string): SearchRefusal {
  return new SearchRefusal(`rg: regex parse error:\n    ${pattern}\nerror: ${why}`)
}

export function invalidGlob(glob: string, why: string): SearchRefusal {
  return new SearchRefusal(`rg: error parsing glob '${glob}': ${why}`)
}

/** Ripgrep would answer, and we cannot answer exactly so. */
export function notExact(what: string, instead: string): SearchRefusal {
  return new SearchRefusal(
    `there is no ripgrep on this machine, and Presence's own search does not serve ${what} exactly as ripgrep does; ` +
      `${instead}, or install ripgrep (rg) there`,
  )
}

/** More than a search may take or read. */
export function beyondLimit(what: string): SearchRefusal {
  return new SearchRefusal(
    `${what}; narrow the search (path, include, a longer literal part of the pattern), or install ripgrep (rg) there`,
  )
}

export const LACKING =
  'there is no ripgrep on this machine, and it lacks what a search without it needs: find, grep, xargs, cat and wc'
