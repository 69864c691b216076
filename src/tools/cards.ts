/** What the host's page shows for a finished call: plain data kept with the result, read back by shape. */
import { structuredPatch } from 'diff'
import type { FileDiff, ToolResultView } from '@deepseek-ai/dsh-tools'

/** A comparison that takes longer is not shown; the file is changed all the same. */
const COMPARE_MS = 500

/** The changed regions of a file with the lines around them; none for a new file or an unknown one. */
export function diffsOf(change: {
  readonly place: string
  readonly before: string | null
  readonly after: string
}): { path: string; oldText: string; newText: string }[] {
  const { place: path, before, after } = change
  if (before === null) return []
  const patch = structuredPatch(path, path, before, after, '', '', { context: 3, timeout: COMPARE_MS })
  return (patch?.hunks ?? []).map(({ lines }) => {
    const side = (other: string): string =>
      lines
        .filter((line) => !line.startsWith(other) && !line.startsWith('\\'))
        .map((line) => line.slice(1))
        .join('\n')
    return { path, oldText: side('+'), newText: side('-') }
  })
}

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
