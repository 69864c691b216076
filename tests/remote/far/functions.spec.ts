/** The functions for files, under every shell that may be `/bin/sh` on a machine: all answer alike. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { quote, quoteAll } from '../../../src/base/shell-word.ts'
import { parseListing } from '../../../src/remote/files/by-shell/list-by-shell.ts'
import { FILE_FUNCTIONS } from '../../../src/remote/shell/file-functions.ts'

const SHELLS: readonly (readonly [string, ...string[]])[] = [
  ['dash'],
  ['bash', '--posix'],
  ['zsh', '--emulate', 'sh'],
  ['busybox', 'ash'],
]
const ODD = "it's\na [x] *?"

const base = mkdtempSync('/var/tmp/presence-functions-')
afterAll(() => rmSync(base, { recursive: true, force: true }))
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(base, 'with space '))
  writeFileSync(join(folder, 'f'), 'content')
  chmodSync(join(folder, 'f'), 0o644)
  writeFileSync(join(folder, ODD), 'odd')
  symlinkSync(ODD, join(folder, 'link'))
  symlinkSync('nothing', join(folder, 'dangling'))
  mkdirSync(join(folder, 'sub'))
  writeFileSync(join(folder, 'AGENTS.md'), 'text')
  symlinkSync('AGENTS.md', join(folder, 'CLAUDE.md'))
})

/** What a question prints, then its status; `input` is what it finds on descriptor 3. */
function ask([program, ...words]: readonly [string, ...string[]], question: string, input = ''): string {
  const script = `${FILE_FUNCTIONS}\nexec 3<&0 </dev/null 2>/dev/null\n${question}\nprintf '<%s>' "$?"`
  return execFileSync('timeout', ['20', program, ...words, '-c', script], { input, encoding: 'latin1' })
}

const path = (name: string): string => `p=${quote(join(folder, name))} d=${quote(folder)} n=${quote(name)}`
const questions = (): string[] => [
  ...['f', ODD, 'link', 'dangling', 'sub', 'none'].flatMap((name) => [
    `${path(name)} b=100; look`,
    `${path(name)} b=0; look`,
  ]),
  `${path('f')} b=3; look`,
  `d=${quote(folder)}; list`,
  `d=${quote(join(folder, 'link'))}; list`,
  `c=y; around ${quoteAll([folder, join(folder, 'sub'), join(folder, 'missing')])}`,
  `c=; around ${quoteAll([folder])}`,
  'able',
]

const NAMED = SHELLS.map((shell) => ({ name: shell.join(' '), shell }))

it.each(NAMED)('$name tells what the others tell', ({ shell }) => {
  const all = questions().join(`; printf '<%s>\\n' "$?"; cd /\n`)
  expect(ask(shell, all)).toBe(ask(['dash'], all))
  expect(ask(shell, `${path('link')} b=100; look`)).toContain(`odd<0>`)
  expect(ask(shell, 'able')).toBe('dd place <0>')
})

it.each(NAMED)('$name puts a content in place, and only where everything is as it should be', ({ shell }) => {
  const content = 'new\0 content\n\\'
  const token = (): string =>
    ask(shell, `${path('f')} b=0; look`)
      .split(' ')
      .at(-1)
      ?.split('\n', 1)[0] ?? ''
  const publish = (name: string, expected: string, umask = '133', mode = ''): string =>
    ask(
      shell,
      `d=${quote(folder)} n=${quote(name)} t=.temporary b=${content.length} u=${umask} c=${quote(mode)} e=${quote(expected)}; publish`,
      content,
    )
  const before = token()
  expect(publish('f', before)).toMatch(/^\d+ 81a4 .*<0>$/s)
  expect(readFileSync(join(folder, 'f'), 'latin1')).toBe(content)
  expect(publish('f', before)).toBe('<4>')
  expect(publish('made', '-', '177')).toMatch(/<0>$/)
  expect((statSync(join(folder, 'made')).mode & 0o777).toString(8)).toBe('600')
  expect(publish('made', '-', '177')).toBe('<4>')
  expect(publish('link', before)).toBe('<3>')
  chmodSync(join(folder, 'f'), 0o750)
  expect(publish('f', token(), '177', '750')).toMatch(/^\d+ 81e8 .*<0>$/s)
  expect(readdirSync(folder)).not.toContain('.temporary')
})

it.each(NAMED)(
  '$name follows no link that leads below itself, and leaves it to the long way',
  ({ shell }) => {
    symlinkSync('endless/x', join(folder, 'endless'))
    symlinkSync('self', join(folder, 'self'))
    const [listing = '', status] = ask(shell, `d=${quote(folder)}; list`).split(/<(?=\d>$)/)
    expect(status).toBe('1>')
    expect(parseListing(parseRemotePath(folder), Buffer.from(listing, 'latin1'))).toBeUndefined()
    for (const name of ['endless', 'self']) {
      expect(listing.split('\0')).toContain(`U${name}`)
      expect(ask(shell, `${path(name)} b=0; look`)).toBe('<3>')
    }
  },
)
