/** Patterns and globs one by one, on texts and names that they differ in: ours beside the host's ripgrep. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { GlobError } from '../../../src/remote/search/own/glob.ts'
import { IgnoreRules, parseRule } from '../../../src/remote/search/own/ignore-rules.ts'
import { sourceOf } from '../../../src/remote/search/own/line-source.ts'
import { noTotals, recordsOf, summaryRecord } from '../../../src/remote/search/own/records.ts'
import { SearchRefusal } from '../../../src/remote/search/own/refusal.ts'
import { PatternMatcher } from '../../../src/remote/search/own/regex/matcher.ts'
import { parsePattern } from '../../../src/remote/search/own/regex/parse.ts'
import { requiredWords } from '../../../src/remote/search/own/regex/required.ts'
import { Tree } from '../../../src/remote/search/own/tree.ts'
import { byRipgrep, comparable, hostRipgrep, type Answer } from './compare.ts'

const LINES = [
  'foo bar',
  'foobar foo_bar foo-bar',
  'Foo FOO fOo',
  '',
  ' ',
  'αβγ ΑΒΓ Σίσυφος ς',
  'ünïcödé Ünïcödé',
  'straße STRASSE ſ K k',
  '日本語 の テスト',
  'e\u0301 \u00e9 x\u0308',
  '👍🏽 👨‍👩‍👧 🇩🇪',
  '\u0661\u0662\u0663 Ⅷ ½ ²',
  'a1b2 _x9 __ 007',
  'tab\tvt\u000bff\u000cnel\u0085ls\u2028nbsp\u00a0ogham\u1680',
  '\u0007bell \u001besc \u0000'.replaceAll('\u0000', ''),
  '[]{}()*+?.|^$\\/#&~-"\'',
  'İstanbul ıI iI DŽ Dž dž',
  'xxxx xxx xx x',
  'end\\',
  '\ufeff inside',
  '\u200bzero \u00adsoft\u2060',
  'ﬃ ﬀ Å Å',
]

const PATTERNS = [
  String.raw`\bfoo\b`,
  String.raw`\b`,
  String.raw`\B`,
  String.raw`\Bo`,
  String.raw`\bα`,
  String.raw`ς\b`,
  String.raw`\b日`,
  String.raw`語\b`,
  String.raw`\<foo`,
  String.raw`foo\>`,
  String.raw`\b{start}foo`,
  String.raw`bar\b{end}`,
  String.raw`\b{start-half}f`,
  String.raw`r\b{end-half}`,
  String.raw`^\b`,
  String.raw`\b$`,
  String.raw`\w+`,
  String.raw`\W`,
  String.raw`\d+`,
  String.raw`\D\d`,
  String.raw`\s\S`,
  String.raw`\S+\s$`,
  String.raw`[\s&&[^ ]]`,
  String.raw`\p{L}+`,
  String.raw`\pL\pN`,
  String.raw`\PL+$`,
  String.raw`\p{^L}x`,
  String.raw`\p{Greek}`,
  String.raw`\p{sc=Greek}`,
  String.raw`\p{Script=Han}`,
  String.raw`\p{scx=Hira}`,
  String.raw`\p{Script_Extensions=Latin}`,
  String.raw`\p{gc=Nd}`,
  String.raw`\p{General_Category=Other_Number}`,
  String.raw`\p{Alphabetic}+`,
  String.raw`\p{White_Space}`,
  String.raw`\p{Uppercase}\p{Lowercase}`,
  String.raw`\p{Emoji}`,
  String.raw`\p{Emoji_Modifier}`,
  String.raw`\p{Cf}`,
  String.raw`\p{Any}$`,
  String.raw`\p{ASCII}+$`,
  String.raw`\p{lu}`,
  String.raw`\p{greek}`,
  String.raw`\p{Latn}+`,
  String.raw`\p{age=3.0}`,
  String.raw`\p{gcb=Extend}`,
  String.raw`[\p{Greek}&&\p{Lu}]`,
  String.raw`[^\p{L}\p{N}\s]`,
  String.raw`(?i)\p{Lu}`,
  String.raw`(?i)\p{Ll}+$`,
  String.raw`(?i)[^k]`,
  String.raw`(?i)σ`,
  String.raw`(?i)å`,
  String.raw`(?i)ß`,
  String.raw`(?i)ı`,
  String.raw`(?i)dž`,
  String.raw`(?i)ﬀ`,
  String.raw`(?-i)foo`,
  String.raw`(?i)foo(?-i)BAR|foo`,
  String.raw`(?i:f)oo`,
  String.raw`(?s).$`,
  String.raw`(?m)^foo`,
  String.raw`(?U)x+`,
  String.raw`(?U)x+?$`,
  String.raw`x{2}`,
  String.raw`x{2,}`,
  String.raw`x{2,3}?`,
  String.raw`x{0}`,
  String.raw`x{,2}`,
  String.raw`x{ 2 }`,
  String.raw`{`,
  String.raw`}`,
  String.raw`x**`,
  String.raw`x+*`,
  String.raw`a||b`,
  String.raw`()`,
  String.raw`(|foo)`,
  String.raw`$^`,
  String.raw`^^foo`,
  String.raw`^$`,
  String.raw`$`,
  String.raw`^`,
  String.raw`[]]`,
  String.raw`[]a]+`,
  String.raw`[^]a]+$`,
  String.raw`[a-]`,
  String.raw`[-a]`,
  String.raw`[a-c&&b-d]`,
  String.raw`[a-z--[aeiou]]{2}`,
  String.raw`[a-c~~b-d]`,
  String.raw`[[:alpha:]_]+`,
  String.raw`[[:^alnum:]]`,
  String.raw`[[:word:]]+$`,
  String.raw`[[:space:]]`,
  String.raw`[[:punct:]]{3}`,
  String.raw`[:alpha:]`,
  String.raw`[\d\-]`,
  String.raw`[\]\[]`,
  String.raw`[&&a]`,
  String.raw`[a&&]`,
  String.raw`[^a&&b]`,
  String.raw`[\b]`,
  String.raw`[a-\d]`,
  String.raw`[b-a]`,
  String.raw`[]`,
  String.raw`[`,
  String.raw`\x41`,
  String.raw`\x{1F44D}`,
  String.raw`\u{65E5}`,
  String.raw`\u65E5`,
  String.raw`\U000065E5`,
  String.raw`[\x{3040}-\x{30FF}]`,
  String.raw`\x{D800}`,
  String.raw`\x{110000}`,
  String.raw`\xFF`,
  String.raw`\t`,
  String.raw`\v`,
  String.raw`\f`,
  String.raw`\a`,
  String.raw`\r`,
  String.raw`\n`,
  String.raw`foo\nbar`,
  String.raw`[\n]`,
  String.raw`[^\n]$`,
  String.raw`foo\s+$`,
  String.raw`\e`,
  String.raw`\0`,
  String.raw`\1`,
  String.raw`\q`,
  String.raw`\-\#\&\~\/`,
  String.raw`\"`,
  String.raw`\ `,
  String.raw`(?#comment)`,
  String.raw`(?P<name>foo)`,
  String.raw`(?<name>foo)`,
  String.raw`(?P=name)`,
  String.raw`(?<!x)`,
  String.raw`(?>x)`,
  String.raw`(foo`,
  String.raw`foo)`,
  '\\',
  String.raw`?`,
  String.raw`|`,
  String.raw`foo|`,
  String.raw`.{2}$`,
  String.raw`e.`,
  String.raw`^.$`,
  '👍🏽',
  '[👍🏽]',
  '👨‍👩',
  'e\u0301',
  'é',
  'a\nb',
  'a\r',
] as const

/** What ripgrep may take and we do not, in their order above: said, never answered otherwise. */
const REFUSED = [
  String.raw`\b{start-half}f`,
  String.raw`r\b{end-half}`,
  String.raw`\p{lu}`,
  String.raw`\p{greek}`,
  String.raw`\p{age=3.0}`,
  String.raw`\p{gcb=Extend}`,
  String.raw`x{,2}`,
]

const NAMES = [
  'a.txt',
  'b.TXT',
  'ab.rs',
  'x/a.txt',
  'x/y/a.txt',
  'x/y/b.rs',
  'é.txt',
  'a-b.txt',
  'a]b.txt',
  '{a,b}.txt',
  'a,b.txt',
  '!x.txt',
  '^x.txt',
  '#x',
  '1.txt',
  'back\\slash',
  'sp ace',
  '日.txt',
  'x/.hid/a.txt',
  '.dot',
  '**',
  'a*b',
]

const GLOBS = [
  '*.{txt,rs}',
  '{a,b}*',
  '{a*,x/**}.txt',
  '{x/y/*,*.rs}',
  '{a,{b,c}}.txt',
  '{,a}.txt',
  '{}',
  '{a}',
  '\\{a,b\\}.txt',
  '[{]a,b}.txt',
  'a{,-b}.txt',
  '[a-c].txt',
  '[!a-c].txt',
  '[^a-c].txt',
  '[]a]*',
  'a[]]b.txt',
  'a[!]]b.txt',
  '[a-]*.txt',
  '[-a]*.txt',
  '[é日].txt',
  '[!é].txt',
  '[0-9].txt',
  '[b-a].txt',
  '[[:alpha:]].txt',
  '[a',
  'a]b.txt',
  '{a',
  'a}',
  '?.txt',
  '??.txt',
  '*',
  '**',
  '***',
  '**/*',
  '/**',
  'x/**/a.txt',
  'x/**',
  '**/y/**',
  'x**a.txt',
  'x/*',
  'x/?/*',
  '/a.txt',
  './a.txt',
  'a.txt/',
  'x/',
  'x//a.txt',
  '!a.txt',
  '!**/a.txt',
  '\\!x.txt',
  '[!]x.txt',
  '[^]x.txt',
  '\\#x',
  '#x',
  '\\a.txt',
  'back\\\\slash',
  'back\\slash',
  'a\\*b',
  '\\',
  'sp ace',
  'sp ace ',
  '.*',
  '**/.*',
  '*.TXT',
  'É.TXT',
  '',
  ' ',
  '/',
  '..',
  '../*',
] as const

let ripgrep = ''
let folder = ''
const files = new Map<string, Buffer>()

beforeAll(async () => {
  ripgrep = await hostRipgrep()
  folder = mkdtempSync(join(tmpdir(), 'presence-patterns-'))
  const [unix, windows] = [LINES.join('\n'), LINES.join('\r\n')]
  const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')
  // Half of a pair, a line end of Windows, and half of a character at the end.
  const odd = [0xfeff, 0x66, 0x6f, 0x6f, 0xd83d, 0x0a, 0x62, 0x61, 0x72, 0x0d, 0x0a]
  files.set('big', utf16(unix).swap16())
  files.set('broken', Buffer.from('foo \xff bar\n\xc3 foo\nfo\xf0\x9f\x91o\n', 'latin1'))
  files.set('little', utf16(`${windows}\r\n`))
  files.set('marked', Buffer.from(`\ufeff${unix}`))
  files.set('odd', Buffer.concat([...odd.map((unit) => Buffer.of(unit & 0xff, unit >> 8)), Buffer.of(0x66)]))
  files.set('unended', Buffer.from(windows))
  files.set('unix', Buffer.from(`${unix}\n`))
  files.set('windows', Buffer.from(`${windows}\r\n`))
  for (const [name, content] of files) put(join('contents', name), content)
  for (const name of NAMES) put(join('names', name), '')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

/** Our answer, without a machine in between. */
function searched(pattern: string, ignoreCase: boolean): Answer {
  try {
    const matcher = new PatternMatcher(pattern, ignoreCase)
    const words = requiredWords(parsePattern(pattern, ignoreCase))
    const fold = (text: string): string =>
      words?.ignoreCase === true ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text
    const totals = noTotals()
    const records: string[] = []
    for (const [name, content] of files) {
      const source = sourceOf(content, 'give-up')
      const found = [...recordsOf(Buffer.from(name), source, matcher, totals)].filter((text) => text !== '')
      records.push(...found)
      // What the machine's grep passes over must hold no match; texts in UTF-16 it never passes over.
      const text = fold(content.toString('latin1'))
      const passed =
        words !== undefined &&
        !/^(\xff\xfe|\xfe\xff)/.test(text) &&
        !words.words.some((word) => text.includes(fold(Buffer.from(word).toString('latin1'))))
      if (passed && found.length > 0)
        throw new Error(`${pattern}: a match in ${name}, which has none of ${words.words.join()}`)
    }
    records.push(summaryRecord(totals, 0))
    return { exitCode: totals.matchedLines > 0 ? 0 : 1, output: Buffer.from(records.join('')), errors: '' }
  } catch (error) {
    if (!(error instanceof SearchRefusal)) throw error
    return { exitCode: 2, output: Buffer.alloc(0), errors: error.message }
  }
}

it(
  'every kind of pattern has the answer of the host’s ripgrep, in texts of every encoding and line end',
  { timeout: 120_000 },
  async () => {
    const counts = { searches: 0, found: 0, nothing: 0, refusedByRipgrep: 0 }
    const refused = new Set<string>()
    for (const pattern of PATTERNS) {
      // Where either case makes a difference: classes, and letters that have several.
      const either = /\[|\\[pPwW]|[^\0-\x7f]|\(\?/.test(pattern) ? [['--ignore-case']] : []
      for (const letters of [[], ...either]) {
        const argv = ['rg', '--no-config', '--json', '--sort=path', ...letters, `--regexp=${pattern}`]
        const theirs = await byRipgrep(ripgrep, argv, join(folder, 'contents'), folder)
        const ours = searched(pattern, letters.length > 0)
        if (ours.errors.includes('does not serve')) {
          refused.add(pattern)
          continue
        }
        const which = `${argv.join(' ')}\nours: ${ours.errors}\nripgrep: ${theirs.errors}`
        expect(comparable(argv, ours), which).toEqual(comparable(argv, theirs))
        counts.searches += 1
        if (theirs.exitCode === 0) counts.found += 1
        else if (theirs.exitCode === 1) counts.nothing += 1
        else counts.refusedByRipgrep += 1
      }
    }
    console.info(`patterns: ${JSON.stringify(counts)}`)
    expect([...refused]).toEqual(REFUSED)
  },
)

it('every kind of glob has the answer of the host’s ripgrep', async () => {
  const tree = new Tree()
  for (const name of NAMES) {
    const parts = Buffer.from(name).toString('latin1').split('/')
    for (let at = 1; at < parts.length; at += 1) tree.addFolder(parts.slice(0, at).join('/'))
    tree.addFile(parts.join('/'), undefined)
  }
  for (const glob of GLOBS) {
    const either = /[A-Zé]/i.test(glob) && glob.length < 7 ? [['--glob-case-insensitive']] : []
    for (const letters of [[], ...either]) {
      const everything = ['--no-ignore', '--hidden', ...letters]
      const argv = ['rg', '--no-config', '--files', '--null', '--sort=path', ...everything, `--glob=${glob}`]
      const theirs = await byRipgrep(ripgrep, argv, join(folder, 'names'), folder)
      const ours = selected(tree, glob, letters.length > 0)
      const which = `${argv.join(' ')}\nours: ${ours.errors}\nripgrep: ${theirs.errors}`
      expect(comparable(argv, ours), which).toEqual(comparable(argv, theirs))
    }
  }
})

function selected(tree: Tree, glob: string, ignoreCase: boolean): Answer {
  try {
    const rule = parseRule(glob, { ignoreCase, allowUnclosedClass: false })
    const overrides = new IgnoreRules(rule === undefined ? [] : [rule])
    const working = join(folder, 'names')
    const selection = {
      overrides,
      hidden: true,
      rules: undefined,
      root: working,
      known: (path: string) => path,
      working,
    }
    const names = tree.select(selection, () => false).files.map(({ path }) => `${path}\0`)
    return { exitCode: names.length > 0 ? 0 : 1, output: Buffer.from(names.join(''), 'latin1'), errors: '' }
  } catch (error) {
    if (!(error instanceof GlobError)) throw error
    return { exitCode: 2, output: Buffer.alloc(0), errors: error.message }
  }
}
