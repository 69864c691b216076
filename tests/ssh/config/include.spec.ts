import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { includedFiles } from '../../../src/ssh/config/include.ts'
import { Workbench } from './workbench.ts'

describe('wildcards of Include', () => {
  it.each([
    '*.conf',
    '?.conf',
    '[ab]*.conf',
    '[!a]*.conf',
    '[a-c].conf',
    '[]]x',
    '[z-a].conf',
    '.*nf',
    'sub*/*.conf',
    '*/deep/*',
    'with\\ blank*',
    'a\\*b*',
    '[',
    'x[y',
    'a+b.*',
  ])('name the files that the shell names: %s', (pattern) => {
    const bench = new Workbench()
    const names = [
      'a.conf',
      'b.conf',
      'z.conf',
      '.h.conf',
      'sub1/x.conf',
      'sub2/deep/y',
      'with blank 1',
      'a*bc',
      'axbc',
    ]
    for (const name of [...names, ']x', '[', 'x[y', 'a+b.c', 'aab.c']) bench.write(name, '')
    const script = `LC_ALL=C; for f in ${pattern}; do if [ -e "$f" ]; then printf '%s\\n' "$f"; fi; done`
    const shell = execFileSync('/bin/sh', ['-c', script], { cwd: bench.folder, encoding: 'utf8' })
    const expected = shell
      .split('\n')
      .filter((name) => name !== '')
      .map((name) => join(bench.folder, name))
    const { files } = includedFiles(pattern, { folder: bench.folder, tilde: true }, bench.facts)
    const wild = /[*?]|\[.*\]/.test(pattern)
    expect(wild ? files : files.filter((file) => expected.includes(file))).toEqual(expected)
  })

  it('begin at the home for "~", and with a drive letter on Windows', () => {
    const { facts } = new Workbench()
    const origin = { folder: 'C:\\Users\\me\\.ssh', tilde: true }
    const windows = { ...facts, platform: 'win32' as const, home: 'C:\\Users\\me' }
    expect(includedFiles('~/x', origin, facts).files).toEqual([`${facts.home}/x`])
    expect(includedFiles('conf', origin, windows).files).toEqual(['C:/Users/me/.ssh/conf'])
    expect(includedFiles('D:\\x', origin, windows).files).toEqual(['D:/x'])
  })
})
