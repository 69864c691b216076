/** Running the machine's ripgrep for our own search tool, and reading what it answers. */
export interface SearchQuery {
  /** Regular expression to find in files; undefined: only names are searched. */
  readonly content: string | undefined
  /** Glob that names must match; without a `/` it matches at any depth. */
  readonly name: string | undefined
  readonly ignoreCase: boolean
}

/** Folders of version control systems, which a search by name leaves out as the host's own does. */
const VERSION_CONTROL = ['.git', '.svn', '.hg', '.bzr', '.jj', '.sl']

export function ripgrepArgv(query: SearchQuery): string[] {
  const name = query.name === undefined ? [] : [`--glob=${query.name}`]
  if (query.content !== undefined) {
    const letters = query.ignoreCase ? ['--ignore-case'] : []
    return ['rg', '--no-config', '--json', '--sort=path', ...letters, `--regexp=${query.content}`, ...name]
  }
  const letters = query.ignoreCase ? ['--glob-case-insensitive'] : []
  const without = VERSION_CONTROL.flatMap((folder) => [`--glob=!**/${folder}`, `--glob=!**/${folder}/**`])
  return [
    'rg',
    '--no-config',
    '--files',
    '--null',
    '--sort=path',
    '--no-ignore',
    '--hidden',
    ...letters,
    ...name,
    ...without,
  ]
}

export interface Match {
  readonly path: string
  readonly line: number
  readonly text: string
}

/**
 * One line of `rg --json`; undefined for records that are no match.
 * @param cut - the record's end is missing, because the matching line is too long to be kept.
 */
export function parseMatch(record: string, cut = false): Match | undefined {
  if (cut) return parseCutMatch(record)
  const { type, data } = JSON.parse(record) as {
    type: string
    data: {
      path?: TextOrBytes
      line_number?: number | null
      lines?: TextOrBytes
    }
  }
  if (type !== 'match') return undefined
  return {
    path: textOf(data.path),
    line: data.line_number ?? 0,
    text: textOf(data.lines).replace(/\r?\n$/, ''),
  }
}

/** Path and text come first; the number of the line is lost with the end. */
function parseCutMatch(record: string): Match | undefined {
  const [, path] = /^\{"type":"match","data":\{"path":\{"text":("(?:[^"\\]|\\.)*")/.exec(record) ?? []
  if (path === undefined) return undefined
  return { path: JSON.parse(path) as string, line: 0, text: '(a line too long to show)' }
}

interface TextOrBytes {
  readonly text?: string
  /** Base64, for what is not UTF-8. */
  readonly bytes?: string
}

function textOf(value: TextOrBytes | undefined): string {
  if (value?.text !== undefined) return value.text
  return Buffer.from(value?.bytes ?? '', 'base64').toString('utf8')
}
