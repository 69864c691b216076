/**
 * Which files an Include names: where relative paths begin, and wildcards as glob(7) reads them. Does not
 * read the files.
 */
import { readdirSync } from 'node:fs'
import { posix, win32 } from 'node:path'
import { messageOf, systemCode } from '../../base/failure.ts'
import { expandTilde } from './expand.ts'
import type { LocalFacts } from './facts.ts'
import { ConfigProblem } from './problem.ts'

/** Where a configuration file came from: decides what its relative Includes mean. */
export interface Origin {
  /** Folder that relative paths begin at: `~/.ssh`, or the system file's own. */
  readonly folder: string
  /** `~` is for users' files only. */
  readonly tilde: boolean
}

export interface Included {
  /** In lexical order; a path without wildcards is here although there may be no such file. */
  readonly files: readonly string[]
  /** Folders whose entries decide which files these are. */
  readonly folders: readonly string[]
  /** Folders that could not be listed, with the reason. */
  readonly unreadable: readonly string[]
}

/**
 * @param pattern One argument of Include, tokens and variables expanded.
 * @throws ConfigProblem when it begins with `~` and must not, or names an unknown user.
 */
export function includedFiles(pattern: string, origin: Origin, facts: LocalFacts): Included {
  if (pattern.startsWith('~') && !origin.tilde) {
    throw new ConfigProblem(`the system's configuration cannot include "${pattern}"`)
  }
  const path = toSlashes(expandTilde(pattern, facts), facts)
  const { isAbsolute, parse } = facts.platform === 'win32' ? win32 : posix
  const whole = isAbsolute(path) ? path : `${toSlashes(origin.folder, facts)}/${path}`
  return glob(whole, parse(whole).root)
}

function toSlashes(path: string, facts: LocalFacts): string {
  return facts.platform === 'win32' ? path.replaceAll('\\', '/') : path
}

function glob(pattern: string, root: string): Included {
  const folders: string[] = []
  const unreadable: string[] = []
  let found = [root]
  for (const segment of pattern.slice(root.length).split('/')) {
    if (segment === '') continue
    if (!/[*?[]/.test(segment)) {
      const name = segment.replace(/\\(.)/gs, '$1')
      found = found.map((folder) => below(folder, name))
      continue
    }
    const matcher = segmentMatcher(segment)
    folders.push(...found)
    found = found.flatMap((folder) =>
      namesIn(folder, unreadable)
        .filter((name) => matcher.test(name) && (!name.startsWith('.') || segment.startsWith('.')))
        .sort()
        .map((name) => below(folder, name)),
    )
  }
  return { files: found, folders, unreadable }
}

function below(folder: string, name: string): string {
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

function namesIn(folder: string, unreadable: string[]): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    const code = systemCode(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') unreadable.push(messageOf(error))
    return []
  }
}

function segmentMatcher(segment: string): RegExp {
  const parts = segment.matchAll(/\\(.)|(\*)|(\?)|\[([!^]?)(\]?[^\]]*)\]|(.)/gsu)
  const source = [...parts].map(([, escaped, star, mark, negation, set, plain]) => {
    if (star !== undefined) return '.*'
    if (mark !== undefined) return '.'
    if (set !== undefined && set !== '') {
      return `[${negation === '' ? '' : '^'}${set.replace(/[\\\]^[]/g, '\\$&')}]`
    }
    return (escaped ?? plain ?? '[]').replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  })
  try {
    return new RegExp(`^${source.join('')}$`, 'su')
  } catch (backwardRange) {
    // `[z-a]` holds no character, so the segment matches no name.
    if (!(backwardRange instanceof SyntaxError)) throw backwardRange
    return /(?!)/
  }
}
