/** `presence_read`: lines of a text file on a machine; ranges are 1-based and closed. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { currentSession } from '../core/current-session.ts'
import { inHostTerms } from '../host/errors.ts'
import { textBlock } from './bounded.ts'
import { field } from './cards.ts'
import type { ToolDeps } from './deps.ts'
import { ToolCallError } from './errors.ts'
import { LineWindow } from './line-window.ts'
import { observed } from './observed.ts'
import { HOST_PARAMETER, PATH_PARAMETER } from './parameters.ts'
import { shownPlace, targetOf } from './target.ts'

const MOST_LINES = 2000
const MOST_CHARACTERS = 100_000

export function readTool({ ctx, presence }: ToolDeps): ToolDefinition {
  return defineTool({
    name: 'presence_read',
    description: `Read lines of a UTF-8 text file on a remote machine, numbered from 1. Without a range: the first ${MOST_LINES} lines. A range is closed: start_line 3 and end_line 5 give three lines.`,
    parameters: {
      host: HOST_PARAMETER,
      path: PATH_PARAMETER,
      start_line: { type: 'integer', description: 'First line, from 1. Default 1.' },
      end_line: {
        type: 'integer',
        description: `Last line, inclusive. At most ${MOST_LINES} lines at once.`,
      },
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          place: { type: 'string', required: true },
          first: { type: 'integer', required: true },
          lines: { type: 'array', required: true, items: { type: 'string' } },
          total: { required: true, oneOf: [{ type: 'integer' }, { type: 'null' }] },
        },
      },
      render: (_args, value) => {
        const last = value.first + value.lines.length - 1
        const numbered = value.lines.map((line, index) => `${value.first + index}: ${line}`).join('\n')
        const end =
          value.total === null
            ? `(more lines follow; go on with start_line ${last + 1})`
            : `(end of file; ${value.total} lines)`
        return textBlock(`${value.place}\n${numbered}\n${end}`)
      },
      presentationMeta: (_args, { first, lines, total }) => ({ first, lines, total }),
    },
    timeoutMs: 120_000,
    isConcurrencySafe: () => true,
    presentCall: (args) => ({ card: 'generic', kind: 'read', title: `Read ${args.path}` }),
    presentResult: (args, result) => {
      const lines = field<string[]>(result, 'lines')
      const first = field<number>(result, 'first')
      const total = field<number | null>(result, 'total')
      // The card tells how many lines there are; that is known only when the end was read.
      if (lines === undefined || first === undefined || typeof total !== 'number') return undefined
      return {
        card: 'read',
        path: args.path,
        offset: first,
        lines: lines.map((text, index) => ({ number: first + index, text })),
        totalLines: total,
      }
    },
    execute: (args, exec) =>
      inHostTerms(async () => {
        const place = targetOf(presence, exec, args)
        const first = args.start_line ?? 1
        const last = Math.min(args.end_line ?? first + MOST_LINES - 1, first + MOST_LINES - 1)
        if (first < 1 || last < first) {
          throw new ToolCallError('start_line must be 1 or more, and end_line not less than start_line')
        }
        const files = presence.files(place.machine)
        const options = { signal: exec.signal, caller: currentSession() }
        const path = await files.canonical(place.path, options)
        const file = { path, shown: shownPlace(place) }
        const stat = await files.stat(file, options)
        const window = new LineWindow(first, last, MOST_CHARACTERS)
        let open = true
        for await (const chunk of files.streamText(file, options)) {
          open = window.push(chunk)
          if (!open) break
        }
        if (open) window.end()
        const { lines, total } = window
        if (total !== undefined && first > Math.max(total, 1)) {
          throw new ToolCallError(`${file.shown} has ${total} lines; start_line ${first} is beyond its end`)
        }
        if (stat !== undefined) observed(ctx, { machine: place.machine, path }, stat.version, exec)
        return { place: shownPlace(place), first, lines, total: total ?? null }
      }),
  })
}
