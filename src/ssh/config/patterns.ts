/**
 * OpenSSH's patterns: `*` any run of characters, `?` any one, and comma-separated lists of them in which
 * `!` negates (ssh_config(5), PATTERNS).
 */

/** True when the whole text matches; case counts. */
export function matchesPattern(text: string, pattern: string): boolean {
  // Greedy with one remembered `*`: linear enough that no pattern can make it slow.
  let at = 0
  let place = 0
  let star = -1
  let resume = 0
  while (at < text.length) {
    const wanted = pattern[place]
    if (wanted === '*') {
      star = place
      place += 1
      resume = at
    } else if (wanted === '?' || (wanted !== undefined && wanted === text[at])) {
      place += 1
      at += 1
    } else if (star >= 0) {
      place = star + 1
      resume += 1
      at = resume
    } else return false
  }
  while (pattern[place] === '*') place += 1
  return place === pattern.length
}

/** True when some pattern of the list matches and no negated one does; case counts. */
export function matchesList(text: string, list: string): boolean {
  let matched = false
  for (const entry of list.split(',')) {
    const negated = entry.startsWith('!')
    if (!matchesPattern(text, negated ? entry.slice(1) : entry)) continue
    if (negated) return false
    matched = true
  }
  return matched
}

/** As `matchesList` for host names, where case does not count. */
export function matchesHostList(host: string, list: string): boolean {
  return matchesList(host.toLowerCase(), list.toLowerCase())
}
