/** `presence_search`: files on a machine by what is in them and by their names. */
import type { Readable } from 'node:stream'
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { inHostTerms } from '../host/errors.ts'
import { parentOf } from '../base/remote-path.ts'
import { PlaceError } from '../places/errors.ts'
import { parseMatch, ripgrepArgv, type Match } from '../remote/search/ripgrep.ts'
import { SearchProcess } from '../remote/search/search-process.ts'
import { boundedLine, shownName, textBlock } from './bounded.ts'
import { field } from './cards.ts'
import type { ToolDeps } from './deps.ts'
import { ToolCallError } from './errors.ts'
import { firstRecords } from './first-records.ts'
import { HeadAndTail } from './head-and-tail.ts'
import { HOST_PARAMETER } from './parameters.ts'
import { runToEnd } from './run-to-end.ts'
import { shownPlace, targetOf } from './target.ts'

const TIMEOUT_MS = 60_000
const COMPLAINT_BYTES = 2000
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
          engine: { type: 'string', required: true },
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
          more: { type: 'boolean', required: true },
          note: { type: 'string', required: true },
        },
      },
      render: (_args, value) => {
        const shown = [
          ...value.names.map(shownName),
          ...value.matches.map(({ path, line, text }) => `${shownName(path)}:${line}: ${text}`),
        ]
        const parts = [
          `${value.place} (by ${value.engine})`,
          ...(shown.length === 0 ? ['no match'] : shown),
          ...(value.more ? [`(there are more than ${shown.length}; narrow the search or raise limit)`] : []),
          ...(value.note === '' ? [] : [value.note]),
        ]
        return textBlock(parts.join('\n'))
      },
      presentationMeta: (_args, { matches, names, more }) => ({ matches, names, more }),
    },
    timeoutMs: TIMEOUT_MS + 10_000,
    isConcurrencySafe: () => true,
    presentCall: (args) => ({
      card: 'generic',
      kind: 'search',
      title: `Search ${args.content ?? args.name ?? ''}`,
    }),
    presentResult: (args, result) => {
      const truncated = field<boolean>(result, 'more') ?? false
      const names = field<string[]>(result, 'names') ?? []
      const matches = field<Match[]>(result, 'matches') ?? []
      const total = names.length + matches.length
      if (total === 0) return undefined
      if (args.content === undefined || args.content === '') {
        return { card: 'search', shape: 'paths', paths: names, total, truncated }
      }
      const files = [...Map.groupBy(matches, ({ path }) => path)].map(([path, lines]) => ({
        path,
        matches: lines.map(({ line, text }) => ({ lineNumber: line, line: text })),
      }))
      return { card: 'search', shape: 'matches', files, total, truncated }
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
        session.requireShell()
        const ripgrep = session.searchEngine === 'rg'
        const stat = await presence.files(machine).stat({ path: place.path, shown: shownPlace(place) }, exec)
        if (stat === undefined)
          throw new PlaceError(`${place.path} does not exist there`, 'not-found', { machine })
        if (stat.type !== 'directory' && nonEmpty(args.name) !== undefined) {
          throw new ToolCallError('path is a file: leave name out, or give a folder', machine)
        }
        const query = {
          content: nonEmpty(args.content),
          name: nonEmpty(args.name),
          ignoreCase: args.ignore_case === true,
        }
        const operand = stat.type === 'directory' ? [] : ['--', place.path]
        const folder = stat.type === 'directory' ? place : { machine, path: parentOf(place.path) }
        // Reading is allowed in every mode, and the host's own search is confined by none.
        const process = new SearchProcess(presence.machine(machine), {
          folder: folder.path,
          graceMs: 1000,
          argv: () => [...ripgrepArgv(query), ...operand],
        })
        const complaint = new HeadAndTail(COMPLAINT_BYTES)
        process.stderr.on('data', (chunk: Buffer) => complaint.push(chunk))
        const found = query.content === undefined ? namesIn : matchesIn
        const collected = found(process.stdout, limit, () => process.terminate())
        const { exitCode, timedOut } = await runToEnd(process, { signal: exec.signal, timeoutMs: TIMEOUT_MS })
        const { names, matches, more } = collected()
        const said = complaint.take().text.trim()
        if (timedOut) throw new ToolCallError('the search took longer than a minute; narrow it', machine)
        // 0: found, 1: not found, 2: something could not be read, or ripgrep did not understand.
        const understood = names.length + matches.length > 0 || said.includes('(os error')
        if (!more && exitCode !== 0 && exitCode !== 1 && !(exitCode === 2 && understood)) {
          throw new ToolCallError(`${ripgrep ? 'ripgrep' : 'search'} failed: ${said}`, machine)
        }
        return {
          place: shownPlace(place),
          engine: ripgrep ? 'ripgrep' : "Presence's own engine, there is no ripgrep",
          names,
          matches,
          more,
          note: said === '' || more ? '' : `[not everything could be searched: ${said}]`,
        }
      }),
  })
}

interface Found {
  readonly names: string[]
  readonly matches: Match[]
  readonly more: boolean
}

function namesIn(output: Readable, most: number, enough: () => void): () => Found {
  const parse = (name: string): string | undefined => nonEmpty(name)
  const collected = firstRecords(output, { separator: 0, most, parse, enough })
  return () => {
    const { results, more } = collected()
    return { names: [...results], matches: [], more }
  }
}

function matchesIn(output: Readable, most: number, enough: () => void): () => Found {
  const parse = (record: string, cut: boolean): Match | undefined => {
    const match = parseMatch(record, cut)
    return match === undefined ? undefined : { ...match, text: boundedLine(match.text) }
  }
  const collected = firstRecords(output, { separator: 10, most, parse, enough })
  return () => {
    const { results, more } = collected()
    return { names: [], matches: [...results], more }
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
