/** `presence_list`: the direct children of a folder on a machine. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { inHostTerms } from '../host/errors.ts'
import { shownName, textBlock } from './bounded.ts'
import type { ToolDeps } from './deps.ts'
import { HOST_PARAMETER } from './parameters.ts'
import { shownPlace, targetOf } from './target.ts'

const MOST_ENTRIES = 1000

export function listTool({ presence }: ToolDeps): ToolDefinition {
  return defineTool({
    name: 'presence_list',
    description:
      'List the files and folders directly inside a folder of a remote machine. Folders end with /. Links are shown as what they lead to.',
    parameters: {
      host: HOST_PARAMETER,
      path: { type: 'string', description: 'Folder; default: the workspace.' },
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          place: { type: 'string', required: true },
          entries: { type: 'array', required: true, items: { type: 'string' } },
          total: { type: 'integer', required: true },
        },
      },
      render: (_args, value) => {
        const more = value.total - value.entries.length
        const rest = more > 0 ? `\n(${more} more are not shown; list a sub-folder or search by name)` : ''
        return textBlock(`${value.place}\n${value.entries.join('\n') || '(empty)'}${rest}`)
      },
    },
    timeoutMs: 60_000,
    isConcurrencySafe: () => true,
    presentCall: (args) => ({ card: 'generic', kind: 'read', title: `List ${args.path ?? 'the workspace'}` }),
    execute: (args, exec) =>
      inHostTerms(async () => {
        const place = targetOf(presence, exec, args, '.')
        const files = presence.files(place.machine)
        const path = await files.canonical(place.path, { signal: exec.signal })
        const entries = await files.list({ path, shown: shownPlace(place) }, { signal: exec.signal })
        return {
          place: shownPlace(place),
          entries: entries
            .slice(0, MOST_ENTRIES)
            .map((entry) =>
              entry.type === 'directory'
                ? `${shownName(entry.name)}/`
                : entry.type === 'file'
                  ? `${shownName(entry.name)}  ${entry.size} bytes`
                  : `${shownName(entry.name)}  (neither file nor folder)`,
            ),
          total: entries.length,
        }
      }),
  })
}
