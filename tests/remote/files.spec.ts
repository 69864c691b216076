import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import type { Shown } from '../../src/remote/files/read.ts'
import { startRig, type Rig } from '../support/rig.ts'

let rig: Rig
let folder = ''

beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())
beforeEach(() => {
  folder = join(rig.folder, `t-${randomBytes(4).toString('hex')}`)
  mkdirSync(folder)
})

/** The server is on this computer: the same folder, seen without SSH. */
const at = (name: string): string => join(folder, name)
const remote = (name: string): Shown => ({ path: parseRemotePath(at(name)), shown: name })
const DIFF_LIMIT = 10 * 1024 * 1024

describe('the canonical path', () => {
  it('is one for all spellings of a file, links included', async () => {
    mkdirSync(at('real'))
    writeFileSync(at('real/file'), 'x')
    symlinkSync(at('real'), at('link'))
    symlinkSync('real/file', at('alias'))
    const canonical = (name: string): Promise<string> => rig.files.canonical(parseRemotePath(at(name)))
    expect(await canonical('link/file')).toBe(at('real/file'))
    expect(await canonical('alias')).toBe(at('real/file'))
    expect(await canonical('real/file')).toBe(at('real/file'))
  })

  it('of what does not exist is its deepest existing ancestor and the missing rest', async () => {
    mkdirSync(at('real'))
    symlinkSync(at('real'), at('link'))
    expect(await rig.files.canonical(parseRemotePath(at('link/a/b/c')))).toBe(at('real/a/b/c'))
  })

  it('below a file does not exist', async () => {
    writeFileSync(at('file'), 'x')
    await expect(rig.files.canonical(parseRemotePath(at('file/child')))).rejects.toMatchObject({
      code: 'not-found',
    })
  })
})

describe('stat', () => {
  it('is undefined for what is absent, also below a file', async () => {
    writeFileSync(at('file'), 'x')
    expect(await rig.files.stat(remote('none'))).toBeUndefined()
    expect(await rig.files.stat(remote('file/child'))).toBeUndefined()
  })

  it('C45: sees a change of the same size within the same second, and a kept time', async () => {
    writeFileSync(at('v'), 'aaaa')
    const { atime, mtime } = statSync(at('v'))
    const before = await rig.files.stat(remote('v'))
    writeFileSync(at('v'), 'bbbb')
    utimesSync(at('v'), atime, mtime)
    const after = await rig.files.stat(remote('v'))
    expect(after?.size).toBe(before?.size)
    expect(after?.version).not.toBe(before?.version)
    expect(await rig.files.stat(remote('v'))).toEqual(after)
  })

  it('tells a link from what it leads to only when asked', async () => {
    mkdirSync(at('d'))
    symlinkSync('d', at('l'))
    symlinkSync('nowhere', at('dangling'))
    expect((await rig.files.stat(remote('l')))?.type).toBe('directory')
    expect((await rig.files.stat(remote('l'), { follow: false }))?.type).toBe('symlink')
    expect(await rig.files.stat(remote('dangling'))).toBeUndefined()
    expect((await rig.files.stat(remote('dangling'), { follow: false }))?.type).toBe('symlink')
  })
})

describe('reading', () => {
  it('refuses what is larger than allowed instead of cutting it', async () => {
    writeFileSync(at('big'), 'x'.repeat(11))
    await expect(rig.files.readBytes(remote('big'), 10)).rejects.toMatchObject({ code: 'too-large' })
    expect((await rig.files.readBytes(remote('big'), 11)).length).toBe(11)
  })

  it('C47: never splits a character, whatever the chunks', async () => {
    const text = `${'a'.repeat(131_070)}你好🙂`.repeat(3)
    writeFileSync(at('text'), text)
    let streamed = ''
    for await (const chunk of rig.files.streamText(remote('text'))) streamed += chunk
    expect(streamed).toBe(text)
    expect(await rig.files.readText(remote('text'))).toBe(text)
  })

  it('C47: tells binary and invalid text apart from an error', async () => {
    writeFileSync(at('nul'), 'a\0b')
    writeFileSync(at('latin'), Buffer.from([0x63, 0x61, 0x66, 0xe9]))
    await expect(rig.files.readText(remote('nul'))).rejects.toMatchObject({
      code: 'not-text',
      message: /binary/,
    })
    await expect(rig.files.readText(remote('latin'))).rejects.toMatchObject({
      code: 'not-text',
      message: /UTF-8/,
    })
    await expect(rig.files.readText(remote('none'))).rejects.toMatchObject({ code: 'not-found' })
    await expect(rig.files.readText(remote('.'))).rejects.toMatchObject({ code: 'not-regular' })
  })

  it('gives ranges, short at the end and empty beyond it', async () => {
    const content = randomBytes(300_000)
    writeFileSync(at('blob'), content)
    expect((await rig.files.readRange(remote('blob'), 100, 5)).equals(content.subarray(100, 105))).toBe(true)
    expect((await rig.files.readRange(remote('blob'), 1000, 299_500)).equals(content.subarray(1000))).toBe(
      true,
    )
    expect((await rig.files.readRange(remote('blob'), 300_001, 5)).length).toBe(0)
  })
})

describe('a listing', () => {
  it('follows links, keeps what dangles, and is in the host’s order', async () => {
    mkdirSync(at('Folder'))
    writeFileSync(at('b.txt'), '12345')
    symlinkSync('Folder', at('to-folder'))
    symlinkSync('b.txt', at('to-file'))
    symlinkSync('nowhere', at('dangling'))
    symlinkSync('loop', at('loop'))
    const entries = await rig.files.list(remote('.'))
    expect(entries.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'b.txt file',
      'dangling other',
      'Folder directory',
      'loop other',
      'to-file file',
      'to-folder directory',
    ])
    expect(entries.find((entry) => entry.name === 'to-folder')?.path).toBe(at('Folder'))
    expect(entries.find((entry) => entry.name === 'b.txt')?.size).toBe(5)
  })

  it('C51: of many entries is complete', async () => {
    mkdirSync(at('many'))
    for (let index = 0; index < 3000; index += 1) writeFileSync(at(`many/f${index}`), '')
    const names = (await rig.files.list(remote('many'))).map((entry) => entry.name)
    expect(new Set(names).size).toBe(3000)
  })

  it('says why it failed', async () => {
    writeFileSync(at('file'), '')
    await expect(rig.files.list(remote('file'))).rejects.toMatchObject({ code: 'not-directory' })
    await expect(rig.files.list(remote('none'))).rejects.toMatchObject({ code: 'not-found' })
  })

  it.each([
    "it's",
    'a"b',
    '-n',
    'new\nline',
    ' lead',
    'trail ',
    'a:b',
    '*?[x]',
    '%20',
    'back\\slash',
    'NFC é',
    '🙂',
  ])('gives the odd name %j back, and the file opens by it', async (name) => {
    writeFileSync(at(name), 'content')
    expect((await rig.files.list(remote('.'))).map((entry) => entry.name)).toEqual([name])
    expect(await rig.files.readText({ path: parseRemotePath(join(folder, name)), shown: name })).toBe(
      'content',
    )
    expect(
      (await rig.files.stat({ path: parseRemotePath(join(folder, name)), shown: name }))?.version,
    ).toMatch(/^x:/)
  })
})

describe('writing', () => {
  it('creates a file and its missing folders, and leaves nothing else', async () => {
    const outcome = await rig.files.write(
      remote('a/b/new.txt'),
      'hello\r\nthere\n',
      { kind: 'none' },
      DIFF_LIMIT,
    )
    expect(outcome).toMatchObject({ created: true, before: null, after: 'hello\nthere\n' })
    expect(readFileSync(at('a/b/new.txt'), 'utf8')).toBe('hello\r\nthere\n')
    expect(readdirSync(at('a/b'))).toEqual(['new.txt'])
    expect((await rig.files.stat(remote('a/b/new.txt')))?.version).toBe(outcome.version)
  })

  it('F79: keeps the mode and the link, and tells what was there', async () => {
    writeFileSync(at('script'), 'old')
    chmodSync(at('script'), 0o755)
    symlinkSync('script', at('link'))
    const path = await rig.files.canonical(parseRemotePath(at('link')))
    const outcome = await rig.files.write({ path, shown: 'link' }, 'new', { kind: 'none' }, DIFF_LIMIT)
    expect(outcome).toMatchObject({ created: false, before: 'old', after: 'new' })
    expect(statSync(at('script')).mode & 0o777).toBe(0o755)
    expect(readFileSync(at('link'), 'utf8')).toBe('new')
  })

  it('refuses a file that changed since it was seen, and one that vanished', async () => {
    writeFileSync(at('v'), 'aaaa')
    const seen = (await rig.files.stat(remote('v')))?.version ?? ''
    writeFileSync(at('v'), 'bbbb')
    const guard = { kind: 'version', version: seen } as const
    await expect(rig.files.write(remote('v'), 'mine', guard, DIFF_LIMIT)).rejects.toMatchObject({
      code: 'stale',
    })
    expect(readFileSync(at('v'), 'utf8')).toBe('bbbb')
    rmSync(at('v'))
    await expect(rig.files.write(remote('v'), 'mine', guard, DIFF_LIMIT)).rejects.toMatchObject({
      code: 'stale',
    })
    expect(existsSync(at('v'))).toBe(false)
  })

  it('never overwrites when only a new file was asked for, not even a dangling link', async () => {
    writeFileSync(at('there'), 'theirs')
    symlinkSync('nowhere', at('dangling'))
    for (const [name, code] of [
      ['there', 'exists'],
      ['dangling', 'not-regular'],
    ] as const) {
      await expect(
        rig.files.write(remote(name), 'mine', { kind: 'absent' }, DIFF_LIMIT),
      ).rejects.toMatchObject({ code })
    }
    expect(readFileSync(at('there'), 'utf8')).toBe('theirs')
    const created = await rig.files.write(remote('fresh'), 'mine', { kind: 'absent' }, DIFF_LIMIT)
    expect(created.created).toBe(true)
    expect(readdirSync(folder).toSorted()).toEqual(['dangling', 'fresh', 'there'])
  })

  it('lets exactly one of many racing creators win', async () => {
    const attempts = Array.from({ length: 8 }, (_unused, index) =>
      rig.files.write(remote('one'), `writer ${index}`, { kind: 'absent' }, DIFF_LIMIT),
    )
    const outcomes = await Promise.allSettled(attempts)
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
    expect(readdirSync(folder)).toEqual(['one'])
  })

  it('says of a link to nothing what it is, instead of asking for it to be read', async () => {
    symlinkSync('nowhere', at('dangling'))
    await expect(rig.files.write(remote('dangling'), 'x', { kind: 'absent' }, 1024)).rejects.toThrow(
      'it is a link to something that does not exist; write to that, or remove the link',
    )
  })

  it('says when the disk is full or read-only, and keeps what was there', async () => {
    mkdirSync(at('disk'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', at('disk')])
    try {
      writeFileSync(at('disk/old'), 'old')
      const filling = rig.files.write(remote('disk/new'), 'x'.repeat(200_000), { kind: 'none' }, 1024)
      await expect(filling).rejects.toThrow(/^cannot write ".*disk\/new": the disk there is full/)
      expect(readdirSync(at('disk'))).toEqual(['old'])
      execFileSync('mount', ['-o', 'remount,ro', at('disk')])
      for (const name of ['disk/old', 'disk/no/folder/yet']) {
        await expect(rig.files.write(remote(name), 'x', { kind: 'none' }, 1024)).rejects.toThrow(
          'the file system there is read-only',
        )
      }
      expect(readFileSync(at('disk/old'), 'utf8')).toBe('old')
    } finally {
      execFileSync('umount', [at('disk')])
    }
  })

  it('says of a name that is too long that it is the name', async () => {
    await expect(rig.files.write(remote('n'.repeat(300)), 'x', { kind: 'none' }, 1024)).rejects.toMatchObject(
      { code: 'bad-name' },
    )
  })

  it('refuses folders and FIFOs', async () => {
    mkdirSync(at('d'))
    execFileSync('mkfifo', [at('pipe')])
    for (const name of ['d', 'pipe']) {
      await expect(rig.files.write(remote(name), 'x', { kind: 'none' }, DIFF_LIMIT)).rejects.toMatchObject({
        code: 'not-regular',
      })
    }
  })

  it('C43: is seen whole or not at all by a reader that never stops looking', async () => {
    const contents = ['a'.repeat(300_000), 'b'.repeat(200_000)]
    writeFileSync(at('busy'), contents[0] ?? '')
    let wrong = 0
    let looking = true
    const reader = (async () => {
      while (looking) {
        const text = readFileSync(at('busy'), 'utf8')
        if (!contents.includes(text)) wrong += 1
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    for (let round = 0; round < 20; round += 1) {
      await rig.files.write(remote('busy'), contents[round % 2] ?? '', { kind: 'none' }, DIFF_LIMIT)
    }
    looking = false
    await reader
    expect(wrong).toBe(0)
  })

  it('F82: breaks a hard link as the local file system does', async () => {
    writeFileSync(at('one'), 'old')
    linkSync(at('one'), at('two'))
    await rig.files.write(remote('one'), 'new', { kind: 'none' }, DIFF_LIMIT)
    expect([readFileSync(at('one'), 'utf8'), readFileSync(at('two'), 'utf8')]).toEqual(['new', 'old'])
  })
})

describe('editing', () => {
  const edit = (
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Parameters<Rig['files']['edit']>[1] => ({
    oldString,
    newString,
    matches: replaceAll ? 'any' : 1,
  })

  it('C47: replaces literally, keeps line ends, and answers both texts', async () => {
    writeFileSync(at('f'), 'one\r\ntwo $& two\r\nthree\r\n')
    const outcome = await rig.files.edit(remote('f'), edit('two $& two\nthree', '$1\n2'), undefined)
    expect(outcome).toMatchObject({ before: 'one\ntwo $& two\nthree\n', after: 'one\n$1\n2\n' })
    expect(readFileSync(at('f'), 'utf8')).toBe('one\r\n$1\r\n2\r\n')
  })

  it('refuses what is absent, ambiguous, binary, gone or changed', async () => {
    writeFileSync(at('f'), 'x x')
    writeFileSync(at('bin'), 'a\0b')
    const code = async (name: string, oldString: string, version?: string): Promise<unknown> =>
      rig.files
        .edit(remote(name), edit(oldString, 'y'), version)
        .catch((error: { code?: string }) => error.code)
    expect(await code('f', 'z')).toBe('edit-not-found')
    expect(await code('f', '')).toBe('edit-not-found')
    expect(await code('f', 'x')).toBe('ambiguous-edit')
    expect(await code('bin', 'a')).toBe('not-text')
    expect(await code('none', 'a')).toBe('stale')
    expect(await code('f', 'x', 'x:another')).toBe('stale')
    expect(readFileSync(at('f'), 'utf8')).toBe('x x')
    await rig.files.edit(remote('f'), edit('x', 'y', true), undefined)
    expect(readFileSync(at('f'), 'utf8')).toBe('y y')
  })

  it('of one file at a time loses none of many', async () => {
    writeFileSync(at('f'), Array.from({ length: 20 }, (_unused, index) => `<${index}>`).join('\n'))
    await Promise.all(
      Array.from({ length: 20 }, (_unused, index) =>
        rig.files.edit(remote('f'), edit(`<${index}>`, `${index}!`), undefined),
      ),
    )
    expect(readFileSync(at('f'), 'utf8')).toBe(
      Array.from({ length: 20 }, (_unused, index) => `${index}!`).join('\n'),
    )
  })
})
