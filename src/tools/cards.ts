/** What the host's page shows for a finished call: plain data kept with the result, read back by shape. */
import { structuredPatch } from 'diff'
import type { FileDiff, ToolResultView } from '@deepseek-ai/dsh-tools'

/** A comparison that takes longer is not shown; the file is changed all the same. */
const COMPARE_MS = 500
/** Nor is one that has more characters: it would be sent again with every look at the session. */
const LONGEST_DIFF = 100_000

/** The changed regions of a file with the lines around them; none for a new file or an unknown one. */
export function diffsOf(change: {
  readonly place: string
  readonly before: string | null
  readonly after: string
}): { path: string; oldText: string; newText: string }[] {
  const { place: path, before, after } = change
  if (before === null) return []
  const patch = structuredPatch(path, path, before, after, '', '', { context: 3, timeout: COMPARE_MS })
  const diffs = (patch?.hunks ?? []).map(({ lines }) => {
    const side = (other: string): string =>
      lines
        .filter((line) => !line.startsWith(other) && !line.startsWith('\\'))
        .map((line) => line.slice(1))
        .join('\n')
    return { path, oldText: side('+'), newText: side('-') }
  })
  const length = diffs.reduce((sum, { oldText, newText }) => sum + oldText.length + newText.length, 0)
  return length > LONGEST_DIFF ? [] : diffs
}

/** The result's part for `diffsOf`. */
export const DIFFS_SCHEMA = {
  type: 'array',
  required: true,
  items: {
    type: 'object',
    additionalProperties: false,
    properties: {
      path: { type: 'string', required: true },
      oldText: { type: 'string', required: true },
      newText: { type: 'string', required: true },
    },
  },
} as const

/** A diff card from `{diffs}`; undefined leaves the card that the call has. */
export function diffCard(
  title: string,
  result: { readonly isError: boolean; readonly meta?: unknown },
): ToolResultView | undefined {
  const diffs = field<FileDiff[]>(result, 'diffs')
  return diffs === undefined || diffs.length === 0 ? undefined : { card: 'diff', title, diffs }
}

/** A field of a finished call's data, when the call succeeded and has it. */
export function field<T>(
  result: { readonly isError: boolean; readonly meta?: unknown },
  name: string,
): T | undefined {
  if (result.isError || typeof result.meta !== 'object' || result.meta === null) return undefined
  return Reflect.get(result.meta, name) as T | undefined
}
