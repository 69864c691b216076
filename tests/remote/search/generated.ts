/** Trees and searches made up from a seed: what ignore rules, names, contents and patterns can be like. */
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'

export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** At least 0, less than `bound`. */
  below(bound: number): number {
    // Mulberry32: small, and the same everywhere.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }

  often(percent: number): boolean {
    return this.below(100) < percent
  }

  one<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0]
  }

  some<T>(choices: readonly [T, ...T[]], most: number): T[] {
    return Array.from({ length: this.below(most + 1) }, () => this.one(choices))
  }
}

const FOLDERS = [
  'src',
  'sub',
  'deep',
  'target',
  'node_modules',
  'build',
  '.hidden',
  '.github',
  'with space',
  'café',
  'a.b',
  '[x]',
] as const

const FILES = [
  'a.txt',
  'b.txt',
  'a.rs',
  'main.rs',
  'lib.ts',
  'lib.test.ts',
  'README.md',
  'readme.MD',
  '.env',
  '.secret.txt',
  'x.log',
  'debug.LOG',
  'ü.txt',
  'two words.txt',
  "quo'te.txt",
  'do"uble.txt',
  'new\nline.txt',
  '-dash.txt',
  '[x].txt',
  '{b}.txt',
  'star*.txt',
  'back\\slash.txt',
  'kept.global',
  'Makefile',
  'data.bin',
  'a',
  'target',
] as const

const RULES = [
  '*.log',
  '!x.log',
  '*.txt',
  '!a.txt',
  '!*.txt',
  '/a.txt',
  '/src',
  'src/',
  '!src/',
  'target',
  'target/',
  '/target/',
  '!target/',
  'node_modules/',
  'build',
  '!build/',
  '**/deep',
  'deep/**',
  'sub/**/a.txt',
  'sub/*.rs',
  '**/*.ts',
  '!lib.ts',
  '*.{rs,ts}',
  '[ab].txt',
  '[!a]*.txt',
  '?.txt',
  '??.txt',
  '.env',
  '!.env',
  '!.hidden',
  '!.hidden/',
  '.*',
  '!.github',
  '# a comment',
  '\\#x',
  '\\!x',
  '   ',
  'trailing.txt  ',
  'two words.txt',
  'two\\ words.txt',
  'caf[é]',
  'ü*',
  '*',
  '!*/',
  '/*',
  '!/src',
  'a/',
  'a',
  '[x]',
  '\\[x\\].txt',
  '[unclosed',
  '{unclosed',
  'back\\\\slash.txt',
  'star\\*.txt',
  '**',
  'a.b/*',
  'README.md',
  'readme.md',
] as const

const LINES = [
  'needle',
  'a needle in hay',
  'Needle NEEDLE',
  'hay',
  '',
  '  ',
  'foo bar baz',
  'foobar',
  'fn main() { return 42; }',
  'const x = "needle"; // todo',
  'αβγ ΑΒΓ ünïcödé',
  'straße STRASSE ſ K k',
  'a-b_c d.e',
  '192.168.0.1:8080',
  'TODO: fix',
  'tab\tseparated\tneedle',
  '日本語 needle',
  'emoji 👍🏽 x',
  'e\u0301 combining',
  '((([[[{{{',
  'end.',
  '\u2028separator',
] as const

export interface GeneratedSearch {
  /** Relative to the tree. */
  readonly folder: string
  readonly argv: readonly string[]
}

const EXCLUDED = ['.git', '.svn', '.hg', '.bzr', '.jj', '.sl'].flatMap((name) => [
  `--glob=!**/${name}`,
  `--glob=!**/${name}/**`,
])

/** One of the command lines that the host's tools and ours send, for a tree with these folders. */
export function makeSearch(chance: Chance, folders: readonly string[]): GeneratedSearch {
  const all = folders as readonly [string, ...string[]]
  const folder = chance.often(70) ? '' : chance.one(all)
  const prefix = folder === '' ? '' : `${folder}/`
  const below = folders.filter((one) => one !== folder && one.startsWith(prefix))
  const inner = below.map((one) => one.slice(prefix.length))
  const spelled = inner.flatMap((one) => [one, `./${one}`, `${one}/`])
  const operands = ['.', './', '..', 'a.txt', 'x.log', 'data.bin', 'not-there', ...spelled] as const
  const tail = chance.often(35) ? ['--', chance.one(operands)] : []
  const globs = chance.often(50) ? chance.some(GLOBS, 2).map((glob) => `--glob=${glob}`) : []
  const pattern = `--regexp=${chance.one(PATTERNS)}`
  const everything = ['--no-ignore', '--hidden']
  const argv = (): string[] => {
    switch (chance.below(4)) {
      case 0:
        return ['--files', `--glob=${chance.one(GLOBS)}`, '--sort=modified', ...everything, ...EXCLUDED]
      case 1:
        return ['--json', pattern, ...globs]
      case 2:
        return ['--json', '--sort=path', ...(chance.often(50) ? ['--ignore-case'] : []), pattern, ...globs]
      default: {
        const letters = chance.often(50) ? ['--glob-case-insensitive'] : []
        return ['--files', '--null', '--sort=path', ...everything, ...letters, ...globs, ...EXCLUDED]
      }
    }
  }
  return { folder, argv: ['rg', '--no-config', ...argv(), ...tail] }
}

/** Patterns that ripgrep takes, and some that it does not. */
const PATTERNS = [
  'needle',
  'Needle',
  '(?i)needle',
  'nee?dle|foo',
  '^needle$',
  '^\\s*$',
  '^$',
  '\\bfoo\\b',
  '\\Boo',
  'foo.*baz',
  '[a-f]+\\d?',
  '[^a-z\\s]+',
  '\\w+\\s\\w+',
  '\\d{1,3}(\\.\\d{1,3}){3}',
  '(foo|foobar)(bar)?',
  '\\p{Greek}+',
  '\\p{Lu}{2,}',
  '\\P{ASCII}',
  '(?i)STRASSE|straße',
  '(?i)k',
  '(?i)ſ',
  '(?i)ü',
  'é|ü|€',
  '\\x{65E5}本',
  '.',
  '..$',
  'x*',
  '',
  'end\\.$',
  '\\(\\(',
  'fn\\s+(?P<name>\\w+)\\(',
  '(?:a|b)+?c',
  '[[:upper:]]+',
  '[[:alpha:]&&[^n]]{4,}',
  '[\\w--[a-m]]+',
  '\\t',
  '\\r$',
  '(needle\\s*)+',
  'todo|fix|TODO',
  'ne{2}dle',
  '\\bin\\b.*hay$',
  '(?i:NEEDLE) in',
  '"[^"]*"',
  '//\\s*todo',
  '👍',
  '\\p{M}',
  '(a*)*b',
  '\\<foo\\>',
  '[éü]',
  '(',
  '[z-a]',
  'a\\nb',
  '(?=x)',
  'x{2,1}',
  '*',
] as const

const GLOBS = [
  '*.txt',
  '*.rs',
  '*.{rs,ts}',
  '**/*.ts',
  'src/**',
  'src/*.txt',
  '/a.txt',
  '!*.log',
  '!src',
  'sub/**/*.txt',
  '[ab].txt',
  '[!a]*.txt',
  '?.txt',
  '.*',
  '.hidden/**',
  '**',
  '*',
  'lib.*',
  '{a,b}.txt',
  '{src,sub}/**',
  '*.TXT',
  'README*',
  'ü.txt',
  '*é*',
  '**/a.txt',
  'deep/',
  '*[[]x]*',
  'target/**',
  '[unclosed',
  '{unclosed',
  '\\',
  '*.global',
  '# x',
  'a',
  '**/sub/**',
  '[^a-m].txt',
  'node_modules/*',
] as const

function contentOf(chance: Chance): Buffer {
  const ending = chance.often(20) ? '\r\n' : '\n'
  const lines = Array.from({ length: chance.below(8) }, () => chance.one(LINES))
  const text = lines.join(ending) + (chance.often(70) ? ending : '')
  const bytes = Buffer.from(text)
  switch (chance.below(16)) {
    case 0:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
    case 1:
      return Buffer.from(`\ufeff${text}`, 'utf16le')
    case 2:
      return Buffer.from(`\ufeff${text}`, 'utf16le').swap16()
    case 3:
      return Buffer.concat([bytes, Buffer.from([0]), Buffer.from('needle after\n')])
    case 4:
      // The NUL is beyond what is read at once.
      return Buffer.concat([
        bytes,
        Buffer.from('filler needle\n'.repeat(5200)),
        Buffer.from([0x0a, 0, 0x0a]),
        bytes,
      ])
    case 5:
      return Buffer.concat([
        bytes,
        Buffer.from([0x6e, 0xff, 0xfe, 0x20, 0xc3, 0x0a]),
        Buffer.from('needle\xe9\n', 'latin1'),
      ])
    case 6:
      return Buffer.alloc(0)
    case 7:
      return Buffer.concat([Buffer.from('n\n'), Buffer.from([0]), bytes])
    case 8:
      // Lines of more than 64 KiB make ripgrep's buffer grow, and with it what it reads of later files.
      return Buffer.concat([Buffer.from('long '.repeat(chance.below(12_000))), bytes])
    default:
      return bytes
  }
}

function rulesText(chance: Chance): string {
  const rules = Array.from({ length: 1 + chance.below(5) }, () => chance.one(RULES))
  return `${chance.often(5) ? '\ufeff' : ''}${rules.join(chance.often(10) ? '\r\n' : '\n')}\n`
}

/** Make a tree in a folder that is there. @returns its folders, relative to it, `''` being itself. */
export function makeTree(root: string, chance: Chance): string[] {
  const folders = ['']
  let time = 1_600_000_000 + chance.below(1000)
  const write = (path: string, content: Buffer | string): void => {
    writeFileSync(path, content)
    // Never two of one time, and often within one second.
    time += chance.often(50) ? 0.25 : 3
    utimesSync(path, time, time)
  }
  for (let count = 2 + chance.below(6); count > 0; count -= 1) {
    const parent = chance.one(folders as [string, ...string[]])
    const folder = parent === '' ? chance.one(FOLDERS) : `${parent}/${chance.one(FOLDERS)}`
    if (folder.split('/').length > 4 || folders.includes(folder)) continue
    mkdirSync(`${root}/${folder}`)
    folders.push(folder)
  }
  for (const folder of folders) {
    const here = `${root}/${folder}`
    const taken = new Set(folders)
    for (const name of chance.some(FILES, 7)) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (taken.has(path)) continue
      taken.add(path)
      write(`${here}/${name}`, contentOf(chance))
    }
    if (chance.often(30)) write(`${here}/.gitignore`, rulesText(chance))
    if (chance.often(12)) write(`${here}/.ignore`, rulesText(chance))
    if (chance.often(6)) write(`${here}/.rgignore`, rulesText(chance))
    if (chance.often(folder === '' ? 60 : 6)) {
      mkdirSync(`${here}/.git/info`, { recursive: true })
      write(`${here}/.git/config`, 'needle in git\n')
      if (chance.often(40)) write(`${here}/.git/info/exclude`, rulesText(chance))
    }
    if (chance.often(10)) symlinkSync('a.txt', `${here}/link.txt`)
    if (chance.often(8)) symlinkSync('.', `${here}/loop`)
    if (chance.often(10)) {
      // A name that is no UTF-8.
      const odd = Buffer.concat([Buffer.from(`${here}/`), Buffer.from([0x66, 0xff, 0x2e, 0x74, 0x78, 0x74])])
      writeFileSync(odd, 'needle in an odd place\n')
      time += 3
      utimesSync(odd, time, time)
    }
  }
  return folders
}
