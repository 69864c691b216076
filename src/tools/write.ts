/** `presence_write`: create a text file on a machine, or replace one that was read. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { currentSession } from '../core/current-session.ts'
import { fenceOf } from '../core/sandbox-policy.ts'
import { textBlock } from './bounded.ts'
import { DIFFS_SCHEMA, diffCard, diffsOf } from './cards.ts'
import type { ToolDeps } from './deps.ts'
import { observed, writeGuard } from './observed.ts'
import { HOST_PARAMETER, PATH_PARAMETER } from './parameters.ts'
import { PERMISSION_PARAMETERS, permitted, policyFor } from './permission.ts'
import { shownPlace, targetOf } from './target.ts'

/** Texts of this many bytes or more are not given back for a comparison. */
const DIFF_LIMIT = 1024 * 1024

export function writeTool({ ctx, presence }: ToolDeps): ToolDefinition {
  return defineTool({
    name: 'presence_write',
    description:
      'Create a UTF-8 text file on a remote machine, or replace a whole one that was read before. Missing folders are made. The change is atomic.',
    parameters: {
      host: HOST_PARAMETER,
      path: PATH_PARAMETER,
      content: { type: 'string', required: true, description: 'The whole new content.' },
      ...PERMISSION_PARAMETERS,
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          place: { type: 'string', required: true },
          created: { type: 'boolean', required: true },
          diffs: DIFFS_SCHEMA,
        },
      },
      render: (_args, value) => textBlock(`${value.created ? 'Created' : 'Replaced'} ${value.place}`),
      presentationMeta: (_args, value) => ({ diffs: value.diffs }),
    },
    timeoutMs: 120_000,
    presentCall: (args) => ({
      card: 'diff',
      title: `Write ${args.path}`,
      diffs: [{ path: args.path, oldText: null, newText: args.content }],
    }),
    presentResult: (args, result) => diffCard(`Write ${args.path}`, result),
    async execute(args, exec) {
      const policy = await policyFor(ctx, presence, exec, args, 'operation')
      return permitted(policy, async () => {
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
        const guard = await writeGuard(ctx, canonical, exec)
        const outcome = await files.write({ path, shown }, args.content, guard, DIFF_LIMIT, {
          fence,
          caller: currentSession(),
          signal: exec.signal,
        })
        observed(ctx, canonical, outcome.version, exec)
        const { before, after, created } = outcome
        return { place: shown, created, diffs: diffsOf({ place: shown, before, after }) }
      })
    },
  })
}
