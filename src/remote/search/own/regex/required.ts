/**
 * Words of which every match of a pattern holds at least one, so that the machine's own grep can tell
 * which files are worth looking at. It may name too many files, never too few.
 */
import type { PatternNode } from './syntax.ts'

export interface RequiredWords {
  readonly words: readonly string[]
  /** The words' ASCII letters may be in either case. */
  readonly ignoreCase: boolean
}

const MOST_WORDS = 40
const LONGEST = 60

/** @returns undefined when nothing is known. */
export function requiredWords(node: PatternNode): RequiredWords | undefined {
  const { best } = study(node)
  if (best === undefined || best.some((word) => word === '')) return undefined
  return { words: [...new Set(best)], ignoreCase: ignoresCase(node) }
}

interface Study {
  /** All that the node can match, where these are few. */
  readonly exact: readonly string[] | undefined
  /** Words of which a match holds one. */
  readonly best: readonly string[] | undefined
}

const UNKNOWN: Study = { exact: undefined, best: undefined }

function study(node: PatternNode): Study {
  switch (node.kind) {
    case 'empty':
    case 'assertion':
      return { exact: [''], best: undefined }
    case 'literal': {
      const character = String.fromCodePoint(node.code)
      if (node.ignoreCase && !/^[\u0001-\u007f]$/.test(character)) return UNKNOWN
      // These two have brothers beyond ASCII: the Kelvin sign and the long s.
      if (node.ignoreCase && /[ks]/i.test(character)) return UNKNOWN
      return { exact: [character], best: [character] }
    }
    case 'class':
      return UNKNOWN
    case 'sequence':
      return studySequence(node.parts)
    case 'choice': {
      const studies = node.branches.map(study)
      return { exact: union(studies.map(({ exact }) => exact)), best: union(studies.map(({ best }) => best)) }
    }
    case 'repeat': {
      if (node.least === 0) return UNKNOWN
      const body = study(node.body)
      return { exact: node.least === 1 && node.most === 1 ? body.exact : undefined, best: body.best }
    }
  }
}

function studySequence(parts: readonly PatternNode[]): Study {
  let best: readonly string[] | undefined
  let run: readonly string[] = ['']
  let whole = true
  const consider = (words: readonly string[] | undefined): void => {
    if (words !== undefined && worth(words) > worth(best)) best = words
  }
  for (const part of parts) {
    const { exact, best: own } = study(part)
    const longer = exact === undefined ? undefined : product(run, exact)
    if (longer === undefined) {
      consider(run)
      consider(own)
      whole = false
      run = exact ?? ['']
    } else run = longer
  }
  consider(run)
  return { exact: whole ? run : undefined, best }
}

function product(left: readonly string[], right: readonly string[]): readonly string[] | undefined {
  if (left.length * right.length > MOST_WORDS) return undefined
  const words = left.flatMap((begin) => right.map((end) => begin + end))
  return words.some((word) => word.length > LONGEST) ? undefined : words
}

function union(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const all: string[] = []
  for (const list of lists) {
    if (list === undefined) return undefined
    all.push(...list)
  }
  return all.length > MOST_WORDS ? undefined : all
}

/** The shortest word decides how many files are named in vain. */
function worth(words: readonly string[] | undefined): number {
  if (words === undefined) return 0
  return Math.min(...words.map((word) => word.length))
}

function ignoresCase(node: PatternNode): boolean {
  switch (node.kind) {
    case 'literal':
    case 'class':
      return node.ignoreCase
    case 'sequence':
      return node.parts.some(ignoresCase)
    case 'choice':
      return node.branches.some(ignoresCase)
    case 'repeat':
      return ignoresCase(node.body)
    default:
      return false
  }
}
