/** Searches in which the machine's grep walks through the tree while it is listed. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { isWorthWaiting, WantedNames } from '../../../src/remote/search/own/early.ts'
import { IgnoreRules, parseRule } from '../../../src/remote/search/own/ignore-rules.ts'
import { SearchProcess } from '../../../src/remote/search/search-process.ts'
import { findProgram } from '../../../scripts/project/programs.ts'
import type { Rig } from '../../support/rig.ts'
import { startRigWithoutRipgrep } from '../../support/userlands.ts'
import { byOurs, byRipgrep, comparable, grep, hostRipgrep } from './compare.ts'

vi.setConfig({ testTimeout: 120_000 })

let rig: Rig
let ripgrep = ''
let folder = ''
let count = 0
/** The computer's own grep, called in its place. */
const real = `exec ${findProgram('grep') ?? 'no-grep'} "$@"`
/** How grep was called: `walk`, or `files` that were named to it. */
let calls = ''

beforeAll(async () => {
  // Root could read everything.
  rig = await startRigWithoutRipgrep('gnu', process.getuid?.() === 0 ? { user: 'tester' } : {})
  ripgrep = await hostRipgrep()
  calls = join(rig.folder, 'calls')
})
afterAll(() => rig.stop())
beforeEach(() => {
  folder = join(rig.folder, `case-${count++}`)
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  writeFileSync(calls, '')
  chmodSync(calls, 0o666)
  grepIs(real)
})

/** @param then - what the machine's grep does once its call is written down. */
function grepIs(then: string): void {
  const path = join(dirname(rig.server.home), 'bin/grep')
  const note = `case $1 in -rl*) echo walk ;; -ls*) echo files ;; esac >>'${calls}'`
  rmSync(path, { force: true })
  writeFileSync(path, `#!/bin/sh\n${note}\n${then}\n`)
  chmodSync(path, 0o755)
}

/** Each kind of call once. */
const called = (): string[] => [...new Set(readFileSync(calls, 'utf8').split('\n').filter(Boolean))].sort()

const write = (path: string, content: string | Buffer): void => {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), content)
}

/** Ours must be ripgrep's, given by the same account. @returns ours, for a look at what was found. */
async function expectSame(argv: readonly string[]): Promise<string> {
  const ours = await byOurs(rig.machine, argv, folder)
  const asTester = ['', '-u', 'tester', '--', 'env', `HOME=${rig.folder}`, ripgrep, ...argv.slice(1)]
  const theirs =
    process.getuid?.() === 0
      ? await byRipgrep('runuser', asTester, folder, rig.folder)
      : await byRipgrep(ripgrep, argv, folder, rig.folder)
  expect(comparable(argv, ours), `${argv.join(' ')}\n${ours.errors}`).toEqual(comparable(argv, theirs))
  return ours.output.toString()
}

describe('an early search', () => {
  it('finds the words of a pattern in every encoding, in either case, beside NULs and broken bytes', async () => {
    const lines = ['a needle', 'NEEDLE in Kelvin’s \u212aay', 'kay', 'ſtraße', '', 'ünïcödé needle\u2028x']
    for (const [name, end] of Object.entries({ lf: '\n', crlf: '\r\n', cr: '\r' })) {
      const text = lines.join(end)
      const wide = Buffer.from(`\ufeff${text}`, 'utf16le')
      write(`${name}/plain.txt`, text)
      write(`${name}/marked.txt`, `\ufeff${text}`)
      write(`${name}/little.txt`, wide)
      write(`${name}/big.txt`, Buffer.from(wide).swap16())
      write(`${name}/unmarked.txt`, wide.subarray(2))
      write(`${name}/latin.txt`, Buffer.from(text, 'latin1'))
      write(`${name}/broken.txt`, Buffer.concat([Buffer.of(0xff), Buffer.from(text), Buffer.of(0xc3)]))
      write(`${name}/nul.bin`, `${text}\0${end}needle${end}`)
    }
    for (const pattern of ['NEEDLE|kay', 'need\\w+$', '^a needle', 'ünïcödé', '\\xff?a']) {
      const [exactly] = await Promise.all(
        [pattern, pattern].map((one, at) => expectSame(grep(one, ...(at === 0 ? [] : ['--ignore-case'])))),
      )
      expect(exactly).toContain('"type":"begin"')
    }
    await expectSame(grep('(?i)kay|STRASSE'))
    await expectSame(grep('not there at all'))
    expect(called()).toContain('walk')
  })

  it('looks at hidden and usually ignored folders only if they are searched, and at names of any kind', async () => {
    const names = [
      '-rf',
      ' ',
      'new\nline',
      './x\n./plain',
      '(standard input)',
      'a: Permission denied',
      '*',
      'b\\n',
    ]
    for (const name of ['plain', ...names]) write(join('odd', name), 'needle\n')
    for (const name of ['.hidden', '..two', 'node_modules', 'dist', '.git', 'build'])
      write(`sub/${name}/in.txt`, 'needle\n')
    write('.ignore', 'dist\n*.log\n!.hidden\n')
    write('x.log', 'needle\n')
    await expectSame(grep('needle'))
    const globs = [['*.txt'], ['**/*.{txt,log}'], ['sub/**/in.*'], ['!*.txt'], ['.hidden'], ['[p]*']]
    for (const some of [...globs, ['*.txt', 'plain', '!dist']])
      await expectSame(grep('needle', ...some.map((glob) => `--glob=${glob}`)))
    await expectSame(grep('needle', '--', 'sub'))
  })

  it('is not trusted for what it could not read, and waits for nothing that is no file', async () => {
    write('open/a.txt', 'needle\n')
    write('shut.txt', 'needle\n')
    write('data/in.txt', 'needle\n')
    write('a: b/shut: c', 'needle\n')
    write('.ignore', 'data\n')
    execFileSync('mkfifo', [join(folder, 'open/pipe')])
    symlinkSync('..', join(folder, 'open/above'))
    symlinkSync('a.txt', join(folder, 'open/alias'))
    for (const path of ['shut.txt', 'data', 'a: b/shut: c']) chmodSync(join(folder, path), 0)
    try {
      expect(await expectSame(grep('needle'))).toContain('open/a.txt')
      expect(called()).toEqual(['files', 'walk'])
      rmSync(join(folder, 'shut.txt'))
      rmSync(join(folder, 'a: b'), { recursive: true })
      writeFileSync(calls, '')
      await expectSame(grep('needle'))
      expect(called()).toEqual(['walk'])
    } finally {
      chmodSync(join(folder, 'data'), 0o755)
    }
  })

  it('asks once more for the contents when there are many, and keeps the order', async () => {
    for (let at = 0; at < 1200; at += 1) write(`many/part-${at % 7}/file-${at}.txt`, `${at}\nneedle ${at}\n`)
    write('many/part-3/new\nline', 'needle\n')
    write('large/a.txt', `${'hay\n'.repeat(750_000)}needle\n`)
    write('large.b', 'needle\n')
    await expectSame(grep('needle 1'))
    await expectSame(grep('needle', '--', 'large'))
    expect(called()).toEqual(['walk'])
    await expectSame(grep('needle'))
  })

  it('is ended when rules leave little of what it would read, and nothing of it stays', async () => {
    write('.ignore', 'data\n')
    write('a.txt', 'needle\n')
    write('data/huge', '')
    truncateSync(join(folder, 'data/huge'), 2 ** 40)
    grepIs(`case $1 in -rl*) exec sleep 7654 ;; esac\n${real}`)
    expect(await expectSame(grep('needle'))).toContain('a.txt')
    expect(called()).toContain('files')
    await expectGone('sleep 7654')
  })

  it('ends with the search when that is ended while grep is still looking', async () => {
    write('a.txt', 'needle\n')
    grepIs(`case $1 in -rl*) echo >>'${calls}.begun'; exec sleep 8765 ;; esac\n${real}`)
    writeFileSync(`${calls}.begun`, '')
    chmodSync(`${calls}.begun`, 0o666)
    const search = new SearchProcess(rig.machine, {
      folder: parseRemotePath(folder),
      graceMs: 1000,
      argv: () => grep('needle'),
    })
    search.stdout.resume()
    await vi.waitFor(() => expect(readFileSync(`${calls}.begun`, 'utf8')).not.toBe(''), { timeout: 20_000 })
    search.terminate()
    expect((await search.done).exitCode).toBeNull()
    await expectGone('sleep 8765')
  })

  it('counts for nothing where grep is another, fails, or says what nobody understands', async () => {
    write('a.txt', 'needle\n')
    write('b.txt', Buffer.from('\ufeffa needle\n', 'utf16le'))
    const greps = [
      `case $1 in --version) echo 'grep (BSD grep, GNU compatible) 2.6.0'; exit ;; esac\n${real}`,
      `case $1 in -rl*) exit 1 ;; --version) echo other; exit ;; esac\n${real}`,
      `case $1 in -rl*) echo 'grep: memory exhausted' >&2; exit 2 ;; esac\n${real}`,
      `case $1 in -rl*) exit 2 ;; esac\n${real}`,
      `case $1 in -rl*) kill -9 $$ ;; esac\n${real}`,
      `case $1 in -rl*) echo 'grep: ./a.txt: warning: recursive directory loop' >&2; exit 1 ;; esac\n${real}`,
    ]
    const busybox = findProgram('busybox')
    if (busybox !== undefined) greps.push(`exec ${busybox} grep "$@"`)
    for (const one of greps) {
      grepIs(one)
      expect(await expectSame(grep('needle'))).toContain('a.txt')
      expect(called()).toContain('files')
    }
  })

  async function expectGone(args: string): Promise<void> {
    const pattern = args.replace(/.$/, (last) => `[${last}]`)
    await vi.waitFor(
      async () => {
        const { stdout } = await rig.server.run(`ps -eo args | grep -c '^${pattern}' || true`)
        expect(stdout.trim()).toBe('0')
      },
      { timeout: 20_000 },
    )
  }
})

describe('what an early search is for', () => {
  it('is never less than what the globs let through', () => {
    const globs = [
      '*.ts',
      '**/*.ts',
      'src/**',
      'src/*.{ts,tsx}',
      '{a,b}.ts',
      '*',
      '**',
      'a/**/b*.c',
      '#x',
      'x.ts ',
    ]
    const more = [
      '[ab].ts',
      '?.ts',
      'a\\.ts',
      '/a.ts',
      'src/',
      '.ts',
      '{,x}.ts',
      '*.{ts,}',
      'a**b',
      'ü.ts',
      'a.t*s*',
    ]
    const paths = [
      'a.ts',
      'b.ts',
      '.ts',
      'src/a.ts',
      'src/b.tsx',
      'a/b.c',
      'a/x/y/bb.c',
      'x.ts',
      'x',
      '#x',
      'aXb',
    ]
    const odd = ['ü.ts', 'a.ts\n', 'ab', 'a.', 'a.tXsY', 'src', 'src/deep/a.md'].map((path) =>
      Buffer.from(path).toString('latin1'),
    )
    for (const glob of [...globs, ...more]) {
      const rule = parseRule(glob, { ignoreCase: false, allowUnclosedClass: false })
      const rules = new IgnoreRules(rule === undefined ? [] : [rule])
      for (const path of [...paths, ...odd]) {
        const name = path.slice(path.lastIndexOf('/') + 1)
        if (rules.verdict(path, false) === 'ignore')
          expect(new WantedNames([glob]).includes(name), `${glob} ${path}`).toBe(true)
      }
    }
    expect(new WantedNames(['*.ts']).includes('a.rs')).toBe(false)
    expect(new WantedNames(['*.ts', '!a.*']).options(['x'])).toBe("'--exclude-dir=x' '--include=*.ts'")
  })

  it('is worth waiting for unless much more is read than is searched', () => {
    const file = (name: string, size?: number): { name: string; facts: { size?: number } } => ({
      name,
      facts: size === undefined ? {} : { size },
    })
    const all = new WantedNames([])
    const [small, huge] = [file('a.ts', 100), file('b.bin', 2 ** 40)]
    expect(isWorthWaiting([small, file('c.ts', 100)], all, [small.facts])).toBe(true)
    expect(isWorthWaiting([small, huge], all, [small.facts])).toBe(false)
    expect(isWorthWaiting([small, huge], new WantedNames(['*.ts']), [small.facts])).toBe(true)
    expect(isWorthWaiting([small, huge], all, [huge.facts])).toBe(true)
    expect(isWorthWaiting([small], all, [])).toBe(false)
    // What was listed later was not walked by.
    expect(isWorthWaiting([file('a.ts')], all, [{}])).toBe(false)
  })
})
