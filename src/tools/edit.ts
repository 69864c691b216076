/** `presence_edit`: replace an exact text in a file on a machine, the number of matches verified. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { currentSession } from '../core/current-session.ts'
import { fenceOf } from '../core/sandbox-policy.ts'
import { FileError } from '../remote/files/errors.ts'
import { MatchCountError } from '../remote/files/text.ts'
import { textBlock } from './bounded.ts'
import { DIFFS_SCHEMA, diffCard, diffsOf } from './cards.ts'
import type { ToolDeps } from './deps.ts'
import { ToolCallError } from './errors.ts'
import { editGuard, observed } from './observed.ts'
import { HOST_PARAMETER, PATH_PARAMETER } from './parameters.ts'
import { PERMISSION_PARAMETERS, permitted, policyFor } from './permission.ts'
import { shownPlace, targetOf } from './target.ts'

export function editTool({ ctx, presence }: ToolDeps): ToolDefinition {
  return defineTool({
    name: 'presence_edit',
    description:
      'Replace an exact text in a UTF-8 file on a remote machine. The text must occur exactly expected_matches times (default 1), and every match is replaced; otherwise nothing changes. Read the file first.',
    parameters: {
      host: HOST_PARAMETER,
      path: PATH_PARAMETER,
      old_string: { type: 'string', required: true, description: 'Exact text to replace, spaces included.' },
      new_string: { type: 'string', required: true, description: 'Replacement; empty deletes.' },
      expected_matches: { type: 'integer', description: 'How often old_string must occur. Default 1.' },
      ...PERMISSION_PARAMETERS,
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          place: { type: 'string', required: true },
          matches: { type: 'integer', required: true },
          diffs: DIFFS_SCHEMA,
        },
      },
      render: (_args, value) =>
        textBlock(
          `Edited ${value.place}: ${value.matches} ${value.matches === 1 ? 'match' : 'matches'} replaced`,
        ),
      presentationMeta: (_args, value) => ({ diffs: value.diffs }),
    },
    timeoutMs: 120_000,
    presentCall: (args) => ({
      card: 'diff',
      title: `Edit ${args.path}`,
      diffs: [{ path: args.path, oldText: args.old_string, newText: args.new_string }],
    }),
    presentResult: (args, result) => diffCard(`Edit ${args.path}`, result),
    async execute(args, exec) {
      const policy = await policyFor(ctx, presence, exec, args, 'operation')
      const matches = args.expected_matches ?? 1
      return permitted(policy, async () => {
        if (matches < 1) throw new ToolCallError('expected_matches must be 1 or more')
        if (args.old_string === args.new_string) {
          throw new ToolCallError('old_string and new_string are the same')
        }
        const place = targetOf(presence, exec, args)
        const shown = shownPlace(place)
        const files = presence.files(place.machine)
        const fence = await fenceOf(presence, place, shown, policy, exec.signal)
        const path = await files.canonical(place.path, {
          signal: exec.signal,
          shown,
          caller: currentSession(),
        })
        const canonical = { machine: place.machine, path }
        const version = await editGuard(ctx, canonical, exec)
        const edit = { oldString: args.old_string, newString: args.new_string, matches }
        const outcome = await files
          .edit({ path, shown }, edit, version, { fence, caller: currentSession(), signal: exec.signal })
          .catch((error: unknown) => {
            throw error instanceof MatchCountError ? countAdvice(error, shown, matches) : error
          })
        observed(ctx, canonical, outcome.version, exec)
        const { before, after } = outcome
        return { place: shown, matches, diffs: diffsOf({ place: shown, before, after }) }
      })
    },
  })
}

function countAdvice(error: MatchCountError, shown: string, expected: number): FileError {
  return new FileError(
    `old_string occurs ${error.found} times in "${shown}", not ${expected}; nothing was changed. Give more of the lines around it, or expected_matches ${error.found} to replace all`,
    'ambiguous-edit',
    { cause: error },
  )
}
