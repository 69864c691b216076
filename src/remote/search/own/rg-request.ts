/**
 * The command lines of ripgrep that are understood without ripgrep: those of the host's grep and glob
 * and of our own search tool. Everything else is refused by name.
 */
import { notExact } from './refusal.ts'

export interface RgRequest {
  /** What lines must match; undefined: only names are asked for (`--files`). */
  readonly pattern: string | undefined
  readonly ignoreCase: boolean
  /** In the order given; later ones win. A leading `!` excludes. */
  readonly globs: readonly string[]
  readonly globsIgnoreCase: boolean
  /** Names that begin with a dot are searched too. */
  readonly hidden: boolean
  /** Ignore files count. */
  readonly ignoreRules: boolean
  readonly sort: 'path' | 'modified'
  /** What ends a name in a list of names. */
  readonly separator: '\n' | '\0'
  /** The folder or file to search, as its paths are to be spelled; undefined: the working folder. */
  readonly operand: string | undefined
}

const FLAGS = new Set([
  '--no-config',
  '--json',
  '--files',
  '--null',
  '--no-ignore',
  '--hidden',
  '--ignore-case',
  '--glob-case-insensitive',
])

/** @param argv - with the program first. @throws SearchRefusal. */
export function readRgArgv(argv: readonly string[]): RgRequest {
  const separator = argv.indexOf('--')
  const options = separator < 0 ? argv.slice(1) : argv.slice(1, separator)
  const operands = separator < 0 ? [] : argv.slice(separator + 1)
  const flags = new Set<string>()
  const globs: string[] = []
  let pattern: string | undefined
  let sort: RgRequest['sort'] = 'path'
  for (const option of options) {
    const [name = '', value] = split(option)
    if (value === undefined && FLAGS.has(name)) flags.add(name)
    else if (name === '--regexp' && value !== undefined && pattern === undefined) pattern = value
    else if (name === '--glob' && value !== undefined) globs.push(value)
    else if (name === '--sort' && (value === 'path' || value === 'modified')) sort = value
    else throw notExact(`its option ${option}`, 'leave it out')
  }
  if (operands.length > 1) throw notExact('several paths at once', 'search them one by one')
  const names = flags.has('--files')
  if (names === (pattern !== undefined) || flags.has('--json') === names) {
    throw notExact('this combination of options', 'ask for names or for lines, the latter as JSON')
  }
  if (!names && (sort === 'modified' || flags.has('--null'))) {
    throw notExact('this order of matches', 'ask for the order of paths')
  }
  return {
    pattern,
    ignoreCase: flags.has('--ignore-case'),
    globs,
    globsIgnoreCase: flags.has('--glob-case-insensitive'),
    hidden: flags.has('--hidden'),
    ignoreRules: !flags.has('--no-ignore'),
    sort,
    separator: flags.has('--null') ? '\0' : '\n',
    operand: operands[0],
  }
}

function split(option: string): [string, string?] {
  const equals = option.indexOf('=')
  return equals < 0 ? [option] : [option.slice(0, equals), option.slice(equals + 1)]
}
