/** Names and links through `ctx.fs`: every name leads back to its file, and no link to another place than it says. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startSeams, type SeamRig } from '../support/seams.ts'

let rig: SeamRig
let there = ''
let here = ''
let mount = ''
let count = 0
beforeAll(async () => {
  rig = await startSeams()
})
afterAll(() => rig.stop())
beforeEach(() => {
  count += 1
  there = join(realpathSync(rig.folder), `n${count}`)
  here = join(rig.local, `n${count}`)
  mount = rig.mount(there)
  for (const folder of [there, here]) mkdirSync(folder)
})

const target = (name: string): Promise<FsTarget> => rig.fs.resolve(name, { cwd: mount })

/** What shells, patterns, options, URLs, paths and Windows take for something else. */
const NAMES = [
  ...[
    "it's",
    'a"b`id`',
    '$(id)${HOME};&|',
    '!(a){b,c}<in>out',
    '-rf',
    '--',
    '~',
    '~root',
    '@#=+',
    '.hidden',
    '...',
    '..x',
  ],
  ...[
    'new\nline',
    'tab\tcr\rhere',
    'bell\u0007',
    'esc\u001b[1m\u007f',
    ' lead',
    'trail ',
    'dot.',
    'line\u2028end',
  ],
  ...['*?[a-z]', '%20', '%', 'back\\slash', 'a:1:b', 'con', 'q?a=1#b'],
  ...['caf\u00e9', 'cafe\u0301', '你好🙂', '\u202eright', '\ufeffbom', 'é'.repeat(127) + 'x'],
]

describe('C49, F107: a name of any kind', () => {
  it.each(NAMES)('%j is written, listed, found by each of its spellings, read and edited', async (name) => {
    const made = await rig.fs.writeText(await target(name), 'one\n', { kind: 'createIfAbsent' })
    expect(readdirSync(there)).toEqual([name])
    const [entry, ...more] = await rig.fs.listDir(await target('.'))
    expect(more).toEqual([])
    expect(entry).toMatchObject({ name, type: 'file', size: 4, version: made.version })
    const found = await target(name)
    expect(entry?.target).toEqual(found)
    const spellings = [
      join(mount, name),
      `${mount}/${name}`,
      rig.fs.processPath(found),
      entry?.target.displayPath ?? '',
      fileURLToPath(rig.fs.fileUrl(found)),
    ]
    for (const spelling of spellings) {
      expect((await rig.fs.resolve(spelling)).targetKey).toBe(`presence://demo${there}/${name}`)
    }
    expect(await rig.fs.lstat(name, { cwd: mount })).toMatchObject({ type: 'file', version: made.version })
    const edit = { oldString: 'one', newString: 'two', replaceAll: false }
    await rig.fs.editText(found, edit, { version: made.version })
    expect(readFileSync(join(there, name), 'utf8')).toBe('two\n')
    expect(await rig.fs.readText(found)).toBe('two\n')
    expect(readdirSync(there)).toEqual([name])
  })

  it('beside all the others is in the same order as on this computer, and is its own file', async () => {
    for (const name of NAMES)
      for (const folder of [there, here]) writeFileSync(join(folder, name), `in ${name}`)
    const names = async (folder: string): Promise<string[]> =>
      (await rig.fs.listDir(await rig.fs.resolve(folder))).map((entry) => entry.name)
    expect(await names(mount)).toEqual(await names(here))
    const contents = await Promise.all(NAMES.map(async (name) => rig.fs.readText(await target(name))))
    expect(contents).toEqual(NAMES.map((name) => `in ${name}`))
  })

  it('F92: that is not UTF-8 is found by what is shown, and keeps its bytes', async () => {
    const raw = Buffer.concat([Buffer.from(`${there}/caf`), Buffer.of(0xe9), Buffer.from('.txt')])
    writeFileSync(raw, 'one\n')
    const shown = 'caf\ufffd.txt'
    const [entry] = await rig.fs.listDir(await target('.'))
    expect(entry).toMatchObject({ name: shown, type: 'file' })
    const found = await target(shown)
    expect(found).toEqual(entry?.target)
    expect([found.displayPath, rig.fs.processPath(found)]).toEqual([join(mount, shown), join(mount, shown)])
    expect((await rig.fs.resolve(rig.fs.processPath(found))).targetKey).toBe(found.targetKey)
    expect(await rig.fs.lstat(shown, { cwd: mount })).toMatchObject({ type: 'file', size: 4 })
    await rig.fs.writeText(found, 'two\n', {
      kind: 'replaceIfVersion',
      version: entry?.version ?? ('' as never),
    })
    expect(readFileSync(raw, 'utf8')).toBe('two\n')
    expect(readdirSync(there)).toHaveLength(1)
    writeFileSync(Buffer.concat([Buffer.from(`${there}/caf`), Buffer.of(0xe8), Buffer.from('.txt')]), '')
    await expect(target(shown)).rejects.toMatchObject({
      code: 'FS_IO_ERROR',
      message: expect.stringContaining('2 names there read alike') as string,
    })
  })
})

describe('C50, F94: a link', () => {
  const policy = { mode: 'workspace-write' as const, workspaceRoot: '' }
  const write = async (name: string, content = 'x'): Promise<unknown> =>
    rig.fs.writeText(await target(name), content, undefined, undefined, { ...policy, workspaceRoot: mount })
  let outside = ''
  beforeEach(() => {
    outside = `${there}-outside`
    mkdirSync(outside)
    mkdirSync(join(there, 'real'))
    symlinkSync('real', join(there, 'folder'))
  })

  it('to a folder is one: it is unfolded, written below, and made no second time', async () => {
    const entries = await rig.fs.listDir(await target('.'))
    expect(entries.map(({ name, type }) => [name, type])).toEqual([
      ['folder', 'directory'],
      ['real', 'directory'],
    ])
    expect(entries[0]?.target.targetKey).toBe(entries[1]?.target.targetKey)
    await write('folder/new/deep.txt', 'deep')
    expect(readFileSync(join(there, 'real/new/deep.txt'), 'utf8')).toBe('deep')
    expect((await rig.fs.listDir(await target('folder/new'))).map(({ name }) => name)).toEqual(['deep.txt'])
    expect(rig.fs.contains(await target('real'), await target('folder/new/deep.txt'))).toBe(true)
  })

  it('out of the workspace is outside of it, in every part of a path and whatever way up it takes', async () => {
    symlinkSync(outside, join(there, 'out'))
    symlinkSync('../..', join(there, 'real/up'))
    symlinkSync(`${outside}/none`, join(there, 'dangling'))
    symlinkSync('out', join(there, 'twice'))
    const out = ['out/f', 'twice/f', 'out/new/f', `folder/up/n${count}-outside/f`, '../f', 'real/../../f']
    for (const name of out) {
      await expect(write(name), name).rejects.toMatchObject({ code: 'FS_SANDBOX_DENIED' })
    }
    expect(rig.fs.contains(await target('.'), await target('out/f'))).toBe(false)
    // A way up that stays inside is inside.
    await write(`folder/up/n${count}/inside`)
    await write('real/../beside')
    // A link to nothing is replaced by a file, as on this computer; what it named is not made.
    await write('dangling')
    expect(readdirSync(outside)).toEqual([])
    expect(readdirSync(there).toSorted()).toEqual(
      ['beside', 'dangling', 'folder', 'inside', 'out', 'real', 'twice'].toSorted(),
    )
  })

  it('that leads to itself or nowhere fails nothing beside it', async () => {
    symlinkSync('loop', join(there, 'loop'))
    symlinkSync('.', join(there, 'self'))
    symlinkSync('nowhere', join(there, 'dangling'))
    writeFileSync(join(there, 'f'), 'here')
    const types = (await rig.fs.listDir(await target('.'))).map(({ name, type }) => `${name} ${type}`)
    expect(types).toEqual([
      'dangling other',
      'f file',
      'folder directory',
      'loop other',
      'real directory',
      'self directory',
    ])
    expect(await rig.fs.readText(await target('self/self/self/f'))).toBe('here')
    for (const name of ['loop', 'dangling']) {
      const failed = target(name).then((found) => rig.fs.readText(found))
      await expect(failed, name).rejects.toMatchObject({ code: 'FS_NOT_FOUND' })
      expect(await rig.fs.lstat(name, { cwd: mount })).toMatchObject({ type: 'symlink' })
    }
  })
})

describe('C05: a local path', () => {
  it('that only looks like one of a machine is local in every call', async () => {
    const mounts = dirname(rig.mount('/'))
    for (const alike of [`${mounts}2`, mounts.replace(/mounts$/, 'MOUNTS'), `${mounts} `]) {
      const path = join(alike, 'demo', there)
      mkdirSync(path, { recursive: true })
      writeFileSync(join(path, 'f'), 'local')
      const found = await rig.fs.resolve('f', { cwd: `${path}/` })
      expect(found.targetKey).toBe(join(path, 'f'))
      expect(await rig.fs.readText(found)).toBe('local')
      await rig.fs.writeText(found, 'changed')
      expect(readFileSync(join(path, 'f'), 'utf8')).toBe('changed')
      rmSync(alike, { recursive: true })
    }
    for (const spelled of [`${mount}/`, `${mount}//`, `${mount}/./`, join(mount, 'x', '..')]) {
      expect((await rig.fs.resolve(spelled)).targetKey).toBe(`presence://demo${there}`)
    }
  })

  it('that leads by a link to what stands for a machine is refused: it is neither there nor served from here', async () => {
    writeFileSync(join(there, 'f'), 'machine')
    mkdirSync(mount, { recursive: true })
    symlinkSync(mount, join(here, 'link'))
    const mounts = dirname(rig.mount('/'))
    symlinkSync(mounts, join(here, 'all'))
    for (const path of ['link', 'link/f', 'link/new', `all/demo${there}/f`, 'all/demo']) {
      await expect(rig.fs.resolve(path, { cwd: here }), path).rejects.toMatchObject({
        code: 'FS_IO_ERROR',
        message: expect.stringContaining(join(mounts, 'demo')) as string,
      })
    }
    await expect(rig.fs.resolve(join(here, 'all/stray'))).rejects.toMatchObject({ code: 'FS_IO_ERROR' })
    expect(readdirSync(mount)).toEqual([])
    expect(existsSync(join(mounts, 'stray'))).toBe(false)
  })
})

describe('C46: many at once', () => {
  it('edits of one file come one after the other, those of others beside them, and none is lost', async () => {
    const words = Array.from({ length: 20 }, (_unused, index) => `<${index}>`)
    for (const name of ['one', 'two', 'three']) writeFileSync(join(there, name), words.join('\n'))
    const edits = ['one', 'two', 'three'].flatMap((name) =>
      words.map(async (word) =>
        rig.fs.editText(await target(name), {
          oldString: word,
          newString: `${name}${word}`,
          replaceAll: false,
        }),
      ),
    )
    await Promise.all(edits)
    for (const name of ['one', 'two', 'three']) {
      expect(readFileSync(join(there, name), 'utf8')).toBe(words.map((word) => `${name}${word}`).join('\n'))
    }
    expect(readdirSync(there).toSorted()).toEqual(['one', 'three', 'two'])
  })

  it('C43: a file that is replaced all the time is always there, whole, for whoever looks from outside', async () => {
    const contents = ['a'.repeat(200_000), 'b'.repeat(100_000)]
    writeFileSync(join(there, 'f'), contents[0] ?? '')
    const script = `i=0; while [ ! -e stop ]; do s=$(stat -c %s f) || echo gone; case $s in 200000|100000) ;; *) echo "part $s" ;; esac; i=$((i+1)); done; echo $i`
    const looking = rig.server.run(`cd ${there} && ${script}`)
    for (let round = 0; round < 30; round += 1) {
      await rig.fs.writeText(await target('f'), contents[round % 2] ?? '')
    }
    execFileSync('touch', [join(there, 'stop')])
    const { stdout } = await looking
    expect(stdout).toMatch(/^\d+\n$/)
    expect(Number(stdout)).toBeGreaterThan(0)
  })
})
