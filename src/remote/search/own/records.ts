/** What ripgrep prints as JSON, record by record. */
import type { LineSource } from './line-source.ts'
import type { PatternMatcher, Span } from './regex/matcher.ts'

export interface Totals {
  searches: number
  searchesWithMatch: number
  bytesSearched: number
  bytesPrinted: number
  matchedLines: number
  matches: number
}

export function noTotals(): Totals {
  return {
    searches: 0,
    searchesWithMatch: 0,
    bytesSearched: 0,
    bytesPrinted: 0,
    matchedLines: 0,
    matches: 0,
  }
}

/** How much text is searched before others have their turn, in bytes. */
const TURN = 4 * 1024 * 1024

/**
 * Search one file and give what is to be printed for it, piece by piece, an empty one now and then as a
 * chance to pause.
 * @param path - its bytes, as they are to be shown.
 */
export function* recordsOf(
  path: Buffer,
  source: LineSource,
  matcher: PatternMatcher,
  totals: Totals,
): Generator<string> {
  const { bytes, searched } = source
  const began = performance.now()
  const shown = textOrBytes(path)
  const reported: [number, number][] = []
  const own = { ...noTotals(), searches: 1, bytesSearched: searched }
  let number = 1
  let pause = TURN
  for (let at = 0; at < searched; number += 1) {
    const lineEnd = bytes.indexOf(0x0a, at)
    const open = lineEnd < 0
    const end = open ? bytes.length : lineEnd
    const next = open ? end : end + 1
    if (matcher.test(bytes, at, end)) {
      const spans = matcher.spans(bytes, at, end, open)
      const record = matchRecord(shown, bytes.subarray(at, next), { number, at }, spans)
      const text = own.matchedLines === 0 ? `${beginRecord(shown)}${record}` : record
      own.matchedLines += 1
      own.matches += spans.length
      own.bytesPrinted += Buffer.byteLength(text)
      reported.push([at, next])
      yield text
    }
    at = next
    if (at > pause) {
      pause = at + TURN
      yield ''
    }
  }
  const nul = source.nul(reported)
  if (nul !== null && source.countedToNul) own.bytesSearched = Math.min(nul, searched)
  if (own.matchedLines > 0) {
    own.searchesWithMatch = 1
    const data = { path: shown, binary_offset: nul, stats: statsOf(own, began) }
    yield `${JSON.stringify({ type: 'end', data })}\n`
  }
  for (const key of Object.keys(own) as (keyof Totals)[]) totals[key] += own[key]
}

/** The last record of all. @param began - when the search began, in milliseconds of `performance.now()`. */
export function summaryRecord(totals: Totals, began: number): string {
  const data = { elapsed_total: elapsedSince(began), stats: statsOf(totals, began) }
  return `${JSON.stringify({ data, type: 'summary' })}\n`
}

function beginRecord(path: TextOrBytes): string {
  return `${JSON.stringify({ type: 'begin', data: { path } })}\n`
}

function matchRecord(
  path: TextOrBytes,
  line: Buffer,
  place: { readonly number: number; readonly at: number },
  spans: readonly Span[],
): string {
  const submatches = spans.map(({ start, end }) => ({
    match: textOrBytes(line.subarray(start, end)),
    start,
    end,
  }))
  const data = {
    path,
    lines: textOrBytes(line),
    line_number: place.number,
    absolute_offset: place.at,
    submatches,
  }
  return `${JSON.stringify({ type: 'match', data })}\n`
}

type TextOrBytes = { readonly text: string } | { readonly bytes: string }

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOrBytes(bytes: Buffer): TextOrBytes {
  try {
    return { text: strict.decode(bytes) }
  } catch (error) {
    if (error instanceof TypeError) return { bytes: bytes.toString('base64') }
    throw error
  }
}

function statsOf(totals: Totals, began: number): object {
  return {
    elapsed: elapsedSince(began),
    searches: totals.searches,
    searches_with_match: totals.searchesWithMatch,
    bytes_searched: totals.bytesSearched,
    bytes_printed: totals.bytesPrinted,
    matched_lines: totals.matchedLines,
    matches: totals.matches,
  }
}

function elapsedSince(began: number): object {
  const ms = performance.now() - began
  const secs = Math.floor(ms / 1000)
  const nanos = Math.round((ms - secs * 1000) * 1e6)
  return { secs, nanos, human: `${(ms / 1000).toFixed(6)}s` }
}
