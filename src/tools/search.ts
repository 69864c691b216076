/** `presence_search`: files on a machine by what is in them and by their names. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { startCommand } from '../core/commands.ts'
import { inHostTerms } from '../host/errors.ts'
import { parentOf } from '../base/remote-path.ts'
import { PlaceError } from '../places/errors.ts'
import { parseMatch, ripgrepArgv, type Match } from '../remote/search/ripgrep.ts'
import { boundedLine, textBlock } from './bounded.ts'
import { field } from './cards.ts'
import { collect } from './collect.ts'
import type { ToolDeps } from './deps.ts'
import { ToolCallError } from './errors.ts'
import { HOST_PARAMETER } from './parameters.ts'
import { shownPlace, targetOf } from './target.ts'

const TIMEOUT_MS = 60_000
const MOST_BYTES = 20 * 1024 * 1024
const DEFAULT_RESULTS = 200
const MOST_RESULTS = 2000

export function searchTool({ presence }: ToolDeps): ToolDefinition {
  return defineTool({
    name: 'presence_search',
    description:
      'Search files on a remote machine. content: a regular expression (ripgrep syntax) that lines must match; ignored and hidden files are left out unless name matches them. name: a glob for file names, e.g. "*.py" or "src/**/*.ts"; alone it lists all files it matches. Give at least one of both.',
    parameters: {
      host: HOST_PARAMETER,
      path: { type: 'string', description: 'Folder or file to search; default: the workspace.' },
      content: { type: 'string', description: 'Regular expression to find in files.' },
      name: { type: 'string', description: 'Glob that file names must match.' },
      ignore_case: { type: 'boolean', description: 'Ignore upper and lower case. Default false.' },
      limit: { type: 'integer', description: `At most so many results. Default ${DEFAULT_RESULTS}.` },
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          place: { type: 'string', required: true },
          matches: {
            type: 'array',
            required: true,
            items: {
              type: 'object',
              additionalProperties: false,
              properties: {
                path: { type: 'string', required: true },
                line: { type: 'integer', required: true },
                text: { type: 'string', required: true },
              },
            },
          },
          names: { type: 'array', required: true, items: { type: 'string' } },
          total: { type: 'integer', required: true },
        },
      },
      render: (_args, value) => {
        const shown = [
          ...value.names,
          ...value.matches.map(({ path, line, text }) => `${path}:${line}: ${text}`),
        ]
        const more = value.total - shown.length
        const rest = more > 0 ? `\n(${more} more; narrow the search or raise limit)` : ''
        return textBlock(`${value.place} (by ripgrep)\n${shown.join('\n') || 'no match'}${rest}`)
      },
      presentationMeta: (_args, { matches, names, total }) => ({ matches, names, total }),
    },
    timeoutMs: TIMEOUT_MS + 10_000,
    isConcurrencySafe: () => true,
    presentCall: (args) => ({
      card: 'generic',
      kind: 'search',
      title: `Search ${args.content ?? args.name ?? ''}`,
    }),
    presentResult: (args, result) => {
      const total = field<number>(result, 'total') ?? 0
      const names = field<string[]>(result, 'names') ?? []
      const matches = field<Match[]>(result, 'matches') ?? []
      if (total === 0) return undefined
      if (args.content === undefined || args.content === '') {
        return { card: 'search', shape: 'paths', paths: names, total, truncated: total > names.length }
      }
      const files = [...Map.groupBy(matches, ({ path }) => path)].map(([path, lines]) => ({
        path,
        matches: lines.map(({ line, text }) => ({ lineNumber: line, line: text })),
      }))
      return { card: 'search', shape: 'matches', files, total, truncated: total > matches.length }
    },
    execute: (args, exec) =>
      inHostTerms(async () => {
        const place = targetOf(presence, exec, args, '.')
        const { machine } = place
        if (nonEmpty(args.content) === undefined && nonEmpty(args.name) === undefined) {
          throw new ToolCallError('give content, name, or both')
        }
        const limit = Math.min(Math.max(args.limit ?? DEFAULT_RESULTS, 1), MOST_RESULTS)
        const session = await presence.machine(machine).session(exec.signal)
        if (session.requireShell().programs.rg === undefined) {
          throw new ToolCallError(
            'search needs ripgrep (rg), which is not installed there; use presence_exec with grep or find',
            machine,
          )
        }
        const stat = await presence.files(machine).stat({ path: place.path, shown: shownPlace(place) }, exec)
        if (stat === undefined)
          throw new PlaceError(`${place.path} does not exist there`, 'not-found', { machine })
        const query = {
          content: nonEmpty(args.content),
          name: nonEmpty(args.name),
          ignoreCase: args.ignore_case === true,
        }
        const operand = stat.type === 'directory' ? [] : ['--', place.path]
        const folder = stat.type === 'directory' ? place : { machine, path: parentOf(place.path) }
        const process = startCommand(
          presence,
          folder,
          { argv: [...ripgrepArgv(query), ...operand], env: {}, input: 'none', graceMs: 1000 },
          // Reading is allowed in every mode, and the host's own search is confined by none.
          { mode: 'danger-full-access', workspace: undefined },
        )
        const ran = await collect(process, {
          signal: exec.signal,
          timeoutMs: TIMEOUT_MS,
          maxBytes: MOST_BYTES,
        })
        if (ran.timedOut) {
          throw new ToolCallError('the search took longer than a minute; narrow it', machine)
        }
        if (ran.exitCode !== 0 && ran.exitCode !== 1) {
          throw new ToolCallError(`ripgrep failed: ${ran.stderr.trim().slice(0, 2000)}`, machine)
        }
        const names = query.content === undefined ? namesOf(ran.stdout) : []
        const matches = query.content === undefined ? [] : matchesOf(ran.stdout)
        return {
          place: shownPlace(place),
          names: names.slice(0, limit),
          matches: matches.slice(0, limit),
          total: names.length + matches.length,
        }
      }),
  })
}

function namesOf(output: string): string[] {
  return output.split('\0').filter((name) => name !== '')
}

function matchesOf(output: string): Match[] {
  return output.split('\n').flatMap((record) => {
    // The first record may have lost its beginning when there was more than is kept.
    if (!record.startsWith('{')) return []
    const match = parseMatch(record)
    return match === undefined ? [] : [{ ...match, text: boundedLine(match.text) }]
  })
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
