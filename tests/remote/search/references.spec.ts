/** `@` references of a folder on a machine, beside the host's own for the same folder on this computer. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { WorkspaceFileSearch } from '@deepseek-ai/dsh-file-reference-local'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { ReferenceIndex } from '../../../src/remote/search/reference-index.ts'
import { firstOfTree, type Candidate } from '../../../src/remote/search/rank.ts'
import { parseNames } from '../../../src/remote/search/reference-listing.ts'
import { MachineConnection } from '../../../src/ssh/connection/machine-connection.ts'
import { file, output } from '../../ssh/life/line.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { startRigWithoutRipgrep } from '../../support/userlands.ts'
import { askedBy } from '../far/questions.ts'
import { Chance, makeTree } from './generated.ts'

const ALWAYS = new AbortController().signal

interface Limits {
  readonly maxResults: number
  readonly maxEntries: number
  readonly excluded: readonly string[]
}

const USUAL: Limits = { maxResults: 20, maxEntries: 10_000, excluded: ['.git', 'node_modules'] }
const LIMITS: readonly Limits[] = [
  USUAL,
  { ...USUAL, maxResults: 3 },
  // Cut off in the middle of a level, and names that are patterns elsewhere.
  { maxResults: 100, maxEntries: 23, excluded: ['[x]', 'su?', '*'] },
  { maxResults: 100, maxEntries: 40, excluded: [] },
]

const QUERIES = [
  '',
  'a',
  'A',
  'rs',
  'main.rs',
  'MAIN',
  'txt',
  'atxt',
  'stx',
  'lib.t',
  'readme',
  '.',
  '.e',
  '.hidden',
  'hidden/.',
  'src',
  'src/',
  'src/a',
  'src/.',
  './src/',
  'src/../',
  'src/../src/m',
  'src\\a',
  '../',
  '/',
  '/etc/',
  '..',
  'not-there/',
  'a.txt/',
  'link.txt/',
  'loop/',
  'loop/a',
  'node_modules/',
  'src/node_modules/',
  '.git/',
  '.hidden/',
  'with space/',
  'two words',
  'wor',
  'café/',
  'é',
  'Ü',
  '👍',
  '👍🏽',
  '👍x',
  'new\nl',
  '[x]',
  '[x]/',
  '*',
  'back',
  'f\ufffd',
  'zzz',
  'deep/deep/',
  'src/sub/deep/t',
] as const

function makeWorkspace(root: string, seed: number): void {
  mkdirSync(root, { recursive: true })
  makeTree(root, new Chance(seed))
  for (const folder of ['src/sub/deep', 'node_modules/x', 'src/node_modules', '.hidden/.deep', '[x]']) {
    mkdirSync(join(root, folder), { recursive: true })
  }
  for (const name of ['src/main.rs', 'src/sub/deep/two.txt', 'node_modules/x/a.txt', 'x👍🏽y-x.txt', '👍.md'])
    writeFileSync(join(root, name), '')
  for (const byte of [0xfe, 0xff])
    writeFileSync(Buffer.concat([Buffer.from(`${root}/f`), Buffer.of(byte)]), '')
  if (seed % 2 === 0) symlinkSync('src', join(root, 'linked'))
}

function indexOf(rig: Rig, root: string, { maxResults, maxEntries, excluded }: Limits): ReferenceIndex {
  const limits = { maxResults, maxEntries, excluded: new Set(excluded) }
  return new ReferenceIndex(rig.machine, rig.files, parseRemotePath(root), limits)
}

const FILES_ONLY = { sshdConfig: ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp'] }

describe.each([
  { what: 'a machine with GNU find', start: () => startRig() },
  { what: 'a machine with busybox', start: () => startRigWithoutRipgrep('busybox') },
  { what: 'a machine with SFTP only', start: () => startRig(FILES_ONLY) },
])('on $what', ({ what, start }) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await start()
  })
  afterAll(() => rig.stop())

  it('every query has the results of the host’s own search, in its order', async () => {
    const counts = { queries: 0, results: 0, nothing: 0 }
    for (let seed = 1; seed <= 6; seed += 1) {
      const root = join(rig.folder, `tree-${seed}`)
      makeWorkspace(root, seed * 7)
      const limits = LIMITS[seed % LIMITS.length] ?? USUAL
      const index = indexOf(rig, root, limits)
      const theirs = new WorkspaceFileSearch(root, { ...limits, excludedDirectories: [...limits.excluded] })
      for (const query of [...QUERIES, `${root}/src/`, `${root}/src/s`]) {
        const expected = await theirs.list(query, ALWAYS)
        const found = await index.query(query, ALWAYS)
        expect(found, `${root}: ${JSON.stringify(query)}`).toEqual(expected)
        counts.queries += 1
        counts.results += found.length
        if (found.length === 0) counts.nothing += 1
      }
      index.close()
    }
    console.info(`@ references on ${what}: ${JSON.stringify(counts)}`)
    expect(counts.queries).toBeGreaterThan(300)
  })

  it('a folder that is not there, or that is a file, offers nothing', async () => {
    writeFileSync(join(rig.folder, 'plain'), '')
    for (const name of ['nowhere', 'plain']) {
      const index = indexOf(rig, join(rig.folder, name), USUAL)
      expect(await index.query('a', ALWAYS)).toEqual([])
      expect(await index.query('', ALWAYS)).toEqual([])
      index.close()
    }
  })
})

describe('an index of names', () => {
  let rig: Rig
  let hold = ''
  let serial = 0
  beforeAll(async () => {
    rig = await startRig()
    // A `find` that does not begin while a file is there.
    hold = join(rig.folder, 'hold')
    const find = join(dirname(rig.server.home), 'bin/find')
    writeFileSync(find, `#!/bin/sh\nwhile [ -e '${hold}' ]; do sleep 0.02; done\nexec /usr/bin/find "$@"\n`)
    chmodSync(find, 0o755)
    await rig.files.list(file(rig.folder))
  })
  afterAll(async () => {
    rmSync(hold, { force: true })
    await rig.stop()
  })

  /** @returns a workspace with one file, and its index. */
  function workspace(): { readonly root: string; readonly index: ReferenceIndex } {
    serial += 1
    const root = join(rig.folder, `workspace-${serial}`)
    mkdirSync(root)
    writeFileSync(join(root, 'first.txt'), '')
    return { root, index: indexOf(rig, root, USUAL) }
  }
  const paths = async (index: ReferenceIndex, query: string): Promise<string[]> =>
    (await index.query(query, ALWAYS)).map(({ path }) => path)

  /** Commands that were begun, questions to the helper shell, requests for files. */
  async function traffic(act: () => Promise<unknown>): Promise<readonly [number, number, number]> {
    const exec = vi.spyOn(MachineConnection.prototype, 'exec')
    try {
      const { questions, requests } = await askedBy(act)
      return [exec.mock.calls.length, questions, requests]
    } finally {
      exec.mockRestore()
    }
  }

  it('is made by one command, and then answers without asking the machine', async () => {
    const { root, index } = workspace()
    mkdirSync(join(root, 'a/b/c'), { recursive: true })
    expect(await traffic(() => index.query('first', ALWAYS))).toEqual([1, 0, 0])
    const typing = async (): Promise<void> => {
      for (const query of ['f', 'fi', 'fir', 'first', 'c', 'nothing']) await index.query(query, ALWAYS)
    }
    expect(await traffic(typing)).toEqual([0, 0, 0])
    // A folder is looked at as it is now: its own listing, and what each name on the way to it is.
    expect(await traffic(() => index.query('a/b/', ALWAYS))).toEqual([0, 0, 3])
    index.close()
  })

  it('is begun when nothing has been typed yet', async () => {
    const { index } = workspace()
    expect(await traffic(() => index.query('', ALWAYS))).toEqual([1, 0, 1])
    expect(await traffic(() => index.query('first', ALWAYS))).toEqual([0, 0, 0])
    index.close()
  })

  it('sees what we wrote, what a command made, and what it is told of', async () => {
    const { root, index } = workspace()
    expect(await paths(index, 'made')).toEqual([])
    await rig.files.write(file(join(root, 'made-by-us.txt')), 'x', { kind: 'absent' }, 1000)
    await vi.waitFor(async () => expect(await paths(index, 'made')).toEqual(['made-by-us.txt']))
    await output(rig.machine, ['touch', 'made-there.txt'], root)
    await vi.waitFor(async () => expect(await paths(index, 'made-there')).toEqual(['made-there.txt']))
    rmSync(join(root, 'made-there.txt'))
    index.invalidate()
    await vi.waitFor(async () => expect(await paths(index, 'made')).toEqual(['made-by-us.txt']))
    index.close()
  })

  it('answers from the old listing while the new one is made, and makes one at a time', async () => {
    const { root, index } = workspace()
    expect(await paths(index, 'f')).toEqual(['first.txt'])
    writeFileSync(hold, '')
    writeFileSync(join(root, 'fresh.txt'), '')
    const asked = await traffic(async () => {
      for (const query of ['f', 'fi', 'fir']) {
        index.invalidate()
        expect(await paths(index, query)).toEqual(['first.txt'])
      }
    })
    expect(asked).toEqual([1, 0, 0])
    rmSync(hold)
    await vi.waitFor(async () => expect(await paths(index, 'fresh')).toEqual(['fresh.txt']))
    index.close()
  })

  it('goes on when who asked has left, and ends when it is closed', async () => {
    const { index } = workspace()
    writeFileSync(hold, '')
    const leaving = new AbortController()
    const left = index.query('f', leaving.signal)
    const waiting = index.query('f', ALWAYS)
    leaving.abort()
    await expect(left).rejects.toMatchObject({ family: 'cancelled' })
    rmSync(hold)
    expect((await waiting).map(({ path }) => path)).toEqual(['first.txt'])
    writeFileSync(hold, '')
    index.invalidate()
    const { index: other } = workspace()
    const ended = other.query('f', ALWAYS)
    const heard = expect(ended).rejects.toMatchObject({ family: 'cancelled' })
    await vi.waitFor(async () => {
      const { stdout } = await rig.server.run(`pgrep -fc '^/bin/sh .*/bin/find [.]' || true`)
      expect(stdout.trim()).not.toBe('0')
    })
    other.close()
    await heard
    rmSync(hold)
    index.close()
  })

  it('of another connection is not believed', async () => {
    const { root, index } = workspace()
    expect(await paths(index, 'f')).toEqual(['first.txt'])
    rmSync(join(root, 'first.txt'))
    rig.machine.connection.drop()
    expect(await paths(index, 'f')).toEqual([])
    index.close()
  })
})

describe('a listing that was cut off', () => {
  it('holds no half name, and no folder as a file', () => {
    const whole = Buffer.from('.\0.\0./a\0./a\0./a/b\0./c\0./c\0./d\0')
    const parsed = parseNames(whole, false)
    expect(parsed).toEqual([
      { path: 'a', kind: 'directory' },
      { path: 'a/b', kind: 'file' },
      { path: 'c', kind: 'directory' },
      { path: 'd', kind: 'file' },
    ] satisfies Candidate[])
    for (let length = 0; length < whole.length; length += 1) {
      const cut = parseNames(whole.subarray(0, length), true)
      expect(parsed.slice(0, cut.length), `${length} bytes`).toEqual(cut)
    }
  })

  it('keeps what is nearest to the root', () => {
    const tree = ['b/z', 'b/a/x', 'a', 'b', 'b/a', 'a/q', 'c'].map((path) => ({
      path,
      kind: 'file' as const,
    }))
    const kept = (most: number): string[] =>
      firstOfTree(tree, most)
        .map(({ path }) => path)
        .toSorted()
    expect(kept(2)).toEqual(['a', 'b'])
    expect(kept(5)).toEqual(['a', 'a/q', 'b', 'b/a', 'c'])
    expect(kept(7)).toHaveLength(7)
  })
})
