import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { SearchProcess } from '../../../src/remote/search/search-process.ts'
import type { Rig } from '../../support/rig.ts'
import { startRigWithoutRipgrep } from '../../support/userlands.ts'
import { byOurs, byRipgrep, comparable, grep, hostRipgrep } from './compare.ts'

vi.setConfig({ testTimeout: 120_000 })

let rig: Rig
let ripgrep = ''
let folder = ''
let count = 0

beforeAll(async () => {
  // Root could read everything.
  const options = process.getuid?.() === 0 ? { user: 'tester' } : {}
  rig = await startRigWithoutRipgrep('gnu', options)
  ripgrep = await hostRipgrep()
})
afterAll(() => rig.stop())
beforeEach(() => {
  folder = join(rig.folder, `case-${count++}`)
  mkdirSync(folder)
  chmodSync(folder, 0o777)
})

const write = (path: string, content: string | Buffer): void => {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), content)
}

/** Both answers, of which ripgrep's is given by the account that ours is given for. */
async function both(
  argv: readonly string[],
  place = folder,
): Promise<{ ours: unknown; theirs: unknown; errors: string }> {
  const ours = await byOurs(rig.machine, argv, place)
  const theirs =
    process.getuid?.() === 0
      ? await byRipgrep('runuser', ['', ...asTester(), ripgrep, ...argv.slice(1)], place, rig.folder)
      : await byRipgrep(ripgrep, argv, place, rig.folder)
  return { ours: comparable(argv, ours), theirs: comparable(argv, theirs), errors: ours.errors }
}

/** What `runuser` is given so that the account's home is the machine's. */
const asTester = (): string[] => ['-u', 'tester', '--', 'env', `HOME=${rig.folder}`]

const paths = async (argv: readonly string[], place = folder): Promise<string[]> => {
  const { output } = await byOurs(rig.machine, argv, place)
  return output
    .toString()
    .split('\n')
    .filter((line) => line.includes('"type":"begin"'))
    .map((line) => (JSON.parse(line) as { data: { path: { text: string } } }).data.path.text)
}

describe('a search without ripgrep', () => {
  it('F107: names every file as it is, whatever its name is made of', async () => {
    const names = [
      '[x]',
      '*',
      '?',
      'back\\slash',
      '100%',
      '~',
      '-rf',
      'new\nline',
      'cr\rhere',
      'a:1:b',
      '{a,b}',
      "it's",
      '$(id)',
    ]
    for (const name of names) write(name, 'needle\n')
    const raw = Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.of(0xe9)])
    writeFileSync(raw, 'needle\n')
    const { ours, theirs } = await both(grep('needle'))
    expect(ours).toEqual(theirs)
    const found = JSON.stringify(ours)
    for (const name of names) expect(found).toContain(`{"text":${JSON.stringify(name)}}`)
    expect(found).toContain(`{"bytes":"${Buffer.from('caf\xe9', 'latin1').toString('base64')}"}`)
    const listing = ['rg', '--no-config', '--files', '--null', '--sort=path']
    expect((await both(listing)).ours).toEqual((await both(listing)).theirs)
  })

  it('tells what it may not read and fails as ripgrep does, with the rest found', async () => {
    write('open.txt', 'needle\n')
    write('shut.txt', 'needle\n')
    write('shut/in.txt', 'needle\n')
    chmodSync(join(folder, 'shut.txt'), 0)
    chmodSync(join(folder, 'shut'), 0)
    const { ours, theirs, errors } = await both(grep('needle'))
    expect(ours).toEqual(theirs)
    expect(errors).toContain('rg: shut.txt: Permission denied (os error 13)')
    expect(errors).toContain('rg: ./shut: Permission denied (os error 13)')
  })

  it('keeps to the excludes of the account’s git, of the repository and of a linked worktree', async () => {
    const git = (...args: string[]): void => {
      const identity = ['-c', 'user.name=x', '-c', 'user.email=x@x', '-c', 'safe.directory=*']
      execFileSync('git', [...identity, ...args], { cwd: folder, stdio: 'ignore' })
    }
    write('main/kept.txt', 'needle\n')
    git('-C', 'main', 'init')
    git('-C', 'main', 'add', '.')
    git('-C', 'main', 'commit', '-m', 'x')
    git('-C', 'main', 'worktree', 'add', '../linked')
    write('main/.git/info/exclude', 'of-repository.txt\n')
    writeFileSync(join(rig.folder, '.gitconfig'), '[core]\n\texcludesFile = ~/my-excludes\n')
    writeFileSync(join(rig.folder, 'my-excludes'), 'of-account.txt\n')
    for (const place of ['main', 'linked']) {
      write(`${place}/of-repository.txt`, 'needle\n')
      write(`${place}/of-account.txt`, 'needle\n')
      const { ours, theirs } = await both(grep('needle'), join(folder, place))
      expect(ours).toEqual(theirs)
      expect(await paths(grep('needle'), join(folder, place))).toEqual(['kept.txt'])
    }
  })

  it('looks into folders that are usually ignored, where no rule says so', async () => {
    for (const name of ['node_modules', 'target', 'dist', '.hidden'])
      write(`a/${name}/deep/x.txt`, 'needle\n')
    write('b/target/x.txt', 'needle\n')
    write('.git/HEAD', 'x\n')
    write('b/.gitignore', 'target\n')
    write('a/.gitignore', '!.hidden\n')
    const { ours, theirs } = await both(grep('needle'))
    expect(ours).toEqual(theirs)
    expect(await paths(grep('needle'))).toEqual([
      'a/.hidden/deep/x.txt',
      'a/dist/deep/x.txt',
      'a/node_modules/deep/x.txt',
      'a/target/deep/x.txt',
    ])
  })

  it('searches a link that is named, and follows none that is met', async () => {
    write('real/x.txt', 'needle\n')
    symlinkSync('real', join(folder, 'link'))
    symlinkSync('x.txt', join(folder, 'real/alias.txt'))
    for (const operand of [[], ['--', 'link'], ['--', 'real/alias.txt'], ['--', 'real/../link/']]) {
      const { ours, theirs } = await both(grep('needle', ...operand))
      expect(ours, operand.join(' ')).toEqual(theirs)
    }
  })

  it('takes a pattern that would try for ever in time that grows with the text alone', async () => {
    write('a.txt', `${'a'.repeat(20_000)}\n`)
    const { ours, theirs } = await both(grep('(a+)+(a|aa)*b|(a*)*c'))
    expect(ours).toEqual(theirs)
  })

  it('refuses by name what it cannot do exactly, and says what helps', async () => {
    write('a.txt', 'needle\n')
    const refusals: readonly (readonly [string[], string])[] = [
      [grep(String.raw`\Aneedle`), String.raw`\A (begin or end of the whole text)`],
      [grep('(?-u)needle'), 'the flag -u in a pattern'],
      [grep('(?x) needle'), 'the flag x in a pattern'],
      [grep(String.raw`\p{Nonesuch}`), 'the Unicode class "Nonesuch"'],
      [grep('(needle{1000}){1000}'), 'so large a pattern'],
      [grep('needle', '--multiline'), 'its option --multiline'],
      [grep('needle', '--', 'a', 'b'), 'several paths at once'],
    ]
    for (const [argv, what] of refusals) {
      const { exitCode, output, errors } = await byOurs(rig.machine, argv, folder)
      expect({ exitCode, output: output.toString() }, what).toEqual({ exitCode: 2, output: '' })
      expect(errors).toContain(`does not serve ${what} exactly as ripgrep does; `)
      expect(errors).toContain('or install ripgrep (rg) there')
    }
  })

  it('of the root of all ends, with an answer or at the limit, and never enters what the kernel makes up', async () => {
    const globs = ['--glob=/proc/version', '--glob=/etc/passwd']
    const argv = [
      'rg',
      '--no-config',
      '--files',
      ...globs,
      '--null',
      '--sort=path',
      '--no-ignore',
      '--hidden',
    ]
    const { output, errors } = await byOurs(rig.machine, argv, '/')
    const limited = errors.includes('there are more than 400000 files and folders; narrow the search')
    expect(output.toString()).toBe(limited ? '' : 'etc/passwd\0')
    const { ours, theirs } = await both([...argv, '--', '/proc/sys/kernel/random'], '/')
    expect(ours).toEqual(theirs)
  })

  it('ends when it is told to, and leaves nothing running', async () => {
    write('big.txt', Buffer.alloc(48 * 1024 * 1024, 'needle in a very large file\n'))
    const search = new SearchProcess(rig.machine, {
      folder: parseRemotePath(folder),
      graceMs: 1000,
      argv: () => grep('needle'),
    })
    await new Promise((resolve) => search.stdout.once('data', resolve))
    search.terminate()
    search.stdout.resume()
    expect((await search.done).exitCode).toBeNull()
    const running = await rig.server.run(`ps -eo args | grep -c '[b]ig.txt' || true`)
    expect(running.stdout.trim()).toBe('0')
  })

  it('is what runs where a pattern has a word, by the machine’s own grep, and reads no more than needed', async () => {
    write('hit.txt', 'the needle\n')
    write('miss.txt', Buffer.alloc(80 * 1024 * 1024, 'nothing of the kind here\n'))
    expect(await paths(grep('needle'))).toEqual(['hit.txt'])
    const { exitCode, errors } = await byOurs(rig.machine, grep(String.raw`^\w+$`), folder)
    expect(exitCode).toBe(2)
    expect(errors).toContain('miss.txt is larger than 64 MiB and may hold matches; narrow the search')
    expect(readFileSync(join(folder, 'hit.txt'), 'utf8')).toBe('the needle\n')
  })
})
