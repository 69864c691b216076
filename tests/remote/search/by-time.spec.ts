/**
 * Lists of files by the machine's ripgrep, in the order of their last change as the host's own ripgrep has it: older
 * ones order each folder by itself.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { SearchProcess } from '../../../src/remote/search/search-process.ts'
import { hostRipgrep } from './compare.ts'
import { startRig, type Rig } from '../../support/rig.ts'

let rig: Rig
let tree = ''
beforeAll(async () => {
  rig = await startRig()
  tree = join(rig.folder, 'tree')
  for (const folder of ['', 'sub', '.hidden', '.git']) mkdirSync(join(tree, folder))
  const names = [
    'c.txt',
    'sub/a.txt',
    '.hidden/b.txt',
    'd e.txt',
    'é.txt',
    'sub/--x.txt',
    'other.md',
    '.git/i.txt',
  ]
  names.forEach((name, index) => {
    writeFileSync(join(tree, name), '')
    // Some differ in nothing but parts of a second.
    utimesSync(join(tree, name), 1_700_000_000, 1_700_000_000 + ((index * 7) % 11) / 4)
  })
})
afterAll(() => rig.stop())

const WORDS = ['--no-config', '--files', '--sort=modified', '--no-ignore', '--hidden', '--glob=!**/.git/**']

async function listed(more: readonly string[]): Promise<{ out: string; err: string; code: number | null }> {
  const process = new SearchProcess(rig.machine, {
    folder: parseRemotePath(tree),
    graceMs: 1000,
    argv: () => ['rg', ...WORDS, ...more],
  })
  let [out, err] = ['', '']
  process.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  process.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const { exitCode } = await process.done
  return { out, err, code: exitCode }
}

it.each(
  [['--glob=**/*.txt'], ['--glob=*.txt', '--', 'sub'], ['--glob=*.none'], ['--', 'missing']].map((more) => ({
    more,
  })),
)('with $more it is as the host’s ripgrep lists it', async ({ more }) => {
  const wanted = spawnSync(await hostRipgrep(), [...WORDS, ...more], { cwd: tree, encoding: 'utf8' })
  const found = await listed(more)
  expect(found).toMatchObject({ out: wanted.stdout, code: wanted.status })
  expect(found.err === '').toBe(wanted.stderr === '')
})
