/**
 * Ranking of paths for `@` references, so that a remote workspace answers in the order in which the host
 * answers for a local one. Pure; the scores are the host's (file-reference-local 0.1.0-rc.8).
 */
export interface Candidate {
  /** Relative to the workspace, with `/`. */
  readonly path: string
  readonly kind: 'file' | 'directory'
}

/** The best candidates for a query, best first; an empty query keeps everything in order of name. */
export function rank(candidates: readonly Candidate[], query: string, limit: number): Candidate[] {
  const needle = query.toLowerCase()
  return candidates
    .flatMap((candidate) => {
      const score = scoreOf(candidate, needle)
      return score === undefined ? [] : [{ candidate, score }]
    })
    .toSorted(
      (a, b) =>
        b.score - a.score ||
        kindOrder(a.candidate) - kindOrder(b.candidate) ||
        (needle === '' ? 0 : a.candidate.path.length - b.candidate.path.length) ||
        compareText(a.candidate.path, b.candidate.path),
    )
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/** Hidden files and folders are offered only to a query that asks for a dot. */
export function isOffered(path: string, query: string): boolean {
  if (query.startsWith('.') || query.includes('/.')) return true
  return !path.split('/').some((segment) => segment.startsWith('.'))
}

/**
 * The first of a tree in the order of a walk that takes folders level by level and names in order, as the
 * host's index is cut off; in no order when there are no more.
 */
export function firstOfTree(candidates: readonly Candidate[], most: number): Candidate[] {
  if (candidates.length <= most) return [...candidates]
  const levels: { readonly segments: readonly string[]; readonly candidate: Candidate }[][] = []
  for (const candidate of candidates) {
    const segments = candidate.path.split('/')
    const level = (levels[segments.length] ??= [])
    level.push({ segments, candidate })
  }
  const first: Candidate[] = []
  for (const level of levels) {
    if (first.length >= most) break
    const left = most - first.length
    // Only the level in which it is cut off has to be in order.
    const kept = (level?.length ?? 0) <= left ? level : level?.toSorted(bySegments).slice(0, left)
    for (const { candidate } of kept ?? []) first.push(candidate)
  }
  return first
}

function bySegments(
  { segments: a }: { readonly segments: readonly string[] },
  { segments: b }: { readonly segments: readonly string[] },
): number {
  for (const [at, segment] of a.entries()) {
    const order = compareText(segment, b[at] ?? '')
    if (order !== 0) return order
  }
  return 0
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function scoreOf(candidate: Candidate, needle: string): number | undefined {
  if (needle === '') return 0
  const path = candidate.path.toLowerCase()
  const name = path.slice(path.lastIndexOf('/') + 1)
  const bonus = candidate.kind === 'directory' ? 25 : 0
  if (name === needle) return 1000 + bonus
  if (name.startsWith(needle)) return 900 + bonus
  if (name.includes(needle)) return 700 + bonus
  if (path.includes(needle)) return 500 + bonus
  const scattered = scatteredScore(path, needle)
  return scattered === undefined ? undefined : 300 + scattered + bonus
}

/** For a query whose characters occur in order: better the fewer others stand between them. */
function scatteredScore(path: string, needle: string): number | undefined {
  let at = 0
  let between = 0
  for (const character of needle) {
    const found = path.indexOf(character, at)
    if (found < 0) return undefined
    between += found - at
    // The host goes on behind the first half of a pair.
    at = found + 1
  }
  return Math.max(0, 100 - between)
}

function kindOrder(candidate: Candidate): number {
  return candidate.kind === 'directory' ? 0 : 1
}
