/** What can lie in a folder, and what can be asked of it: every kind of thing with every operation. */
import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FsTarget, FsVersion } from '@deepseek-ai/dsh-fs'
import { hashOf } from './on-disk.ts'
import { DIFF_LIMIT, type World } from './worlds.ts'

export interface Kind {
  readonly title: string
  /** The path that is asked about, relative to the folder. */
  readonly path: string
  prepare(disk: string): void
}

function file(title: string, content: string | Buffer, mode = 0o644, path = 'f'): Kind {
  return {
    title,
    path,
    prepare: (disk) => {
      writeFileSync(join(disk, path), content)
      chmodSync(join(disk, path), mode)
    },
  }
}

function thing(title: string, path: string, prepare: (disk: string) => void): Kind {
  return { title, path, prepare }
}

/** Two files and a folder with a file, for links to lead to. */
function furniture(disk: string): void {
  writeFileSync(join(disk, 'a.txt'), 'one\ntwo\n')
  writeFileSync(join(disk, 'b.txt'), 'three\n')
  mkdirSync(join(disk, 'sub'))
  writeFileSync(join(disk, 'sub/inner'), 'inner\n')
}

function link(title: string, target: string | ((disk: string) => string), path = 'f'): Kind {
  return thing(title, path, (disk) => {
    furniture(disk)
    const first = path.split('/')[0] ?? path
    symlinkSync(typeof target === 'string' ? target : target(disk), join(disk, first))
  })
}

const LONG = 'x'.repeat(131_070)

export const KINDS: readonly Kind[] = [
  file('a text', 'one\ntwo\none\n'),
  file('an empty file', ''),
  file('a text without a last line end', 'one two'),
  file('Windows line ends', 'one\r\ntwo\r\none\r\n'),
  file('mixed line ends, mostly Windows', 'one\r\ntwo\r\nthree\n'),
  file('mixed line ends, mostly Unix', 'one\r\ntwo\nthree\n'),
  file('old Macintosh line ends', 'one\rtwo\r'),
  file('Windows line ends behind the sample', `${'x'.repeat(5000)}one\r\ntwo\r\n`),
  file('a byte order mark', '\ufeffone\ntwo\n'),
  file('a NUL at the beginning', '\0one'),
  file('a NUL within the sample', `${'x'.repeat(8191)}\0one`),
  file('a NUL behind the sample', `${'x'.repeat(8192)}\0one`),
  file('bytes that are not UTF-8', Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a])),
  file('a character cut off at the end', Buffer.from([0x6f, 0x6e, 0x65, 0xf0, 0x9f])),
  file('characters across the borders of pieces', `${LONG}你好🙂one${LONG}🙂`),
  file('a text of just less than the limit of comparing', `one${'x'.repeat(DIFF_LIMIT - 4)}`),
  file('a text of the limit of comparing', `one${'x'.repeat(DIFF_LIMIT - 3)}`),
  file('a program', '#!/bin/sh\necho one\n', 0o755),
  file('a read-only file', 'one\n', 0o444),
  file('a private file', 'one\n', 0o600),
  file('a file for a group', 'one\n', 0o660),
  file('a file that nobody may touch', 'one\n', 0o000),
  file('a file that may only be written', 'one\n', 0o222),
  file('a set-user-ID program', 'one\n', 0o4755),
  file('a set-group-ID program', 'one\n', 0o2755),
  file('a sticky file', 'one\n', 0o1644),
  file('a name with a space', 'one\n', 0o644, 'a name'),
  file('a name with a line end', 'one\n', 0o644, 'a\nname'),
  file('a name that begins with a dash', 'one\n', 0o644, '-rf'),
  file('a name with quotes and a dollar', 'one\n', 0o644, `it's "$HOME"`),
  file('a name of pattern characters', 'one\n', 0o644, '*?[a-z]{b,c}'),
  file('a name with a backslash', 'one\n', 0o644, 'back\\slash'),
  file('a name with a percent sign', 'one\n', 0o644, '100%25'),
  file('a name with a colon', 'one\n', 0o644, 'a:b'),
  file('a composed name', 'one\n', 0o644, 'caf\u00e9'),
  file('a decomposed name', 'one\n', 0o644, 'cafe\u0301'),
  file('a name of pictures', 'one\n', 0o644, '🙂🙃'),
  file('a name of dots', 'one\n', 0o644, '...'),
  file('a hidden file', 'one\n', 0o644, '.hidden'),
  file('a long name', 'one\n', 0o644, 'n'.repeat(190)),
  file('a name that ends with a space', 'one\n', 0o644, 'end '),
  thing('a file with a second name', 'f', (disk) => {
    writeFileSync(join(disk, 'f'), 'one\n')
    linkSync(join(disk, 'f'), join(disk, 'g'))
  }),
  thing('a file in folders', 'x/y/f', (disk) => {
    mkdirSync(join(disk, 'x/y'), { recursive: true })
    writeFileSync(join(disk, 'x/y/f'), 'one\n')
  }),
  thing('a path with a way up', 'sub/../a.txt', furniture),
  thing('a path with a dot and a slash at its end', './sub/', furniture),
  thing('the folder itself', '.', furniture),
  thing('an empty folder', 'd', (disk) => mkdirSync(join(disk, 'd'))),
  thing('a folder of many kinds', 'd', (disk) => {
    mkdirSync(join(disk, 'd'))
    furniture(join(disk, 'd'))
    symlinkSync('a.txt', join(disk, 'd/to-file'))
    symlinkSync('sub', join(disk, 'd/to-folder'))
    symlinkSync('nowhere', join(disk, 'd/dangling'))
    symlinkSync('../d', join(disk, 'd/up'))
    for (const name of ['B', 'a', 'Z', 'ä', 'é', '_', '10', '9', '.x', '-', '~']) {
      writeFileSync(join(disk, 'd', name), name)
    }
    execFileSync('mkfifo', [join(disk, 'd/pipe')])
  }),
  thing('a folder that may not be read', 'd', (disk) => {
    mkdirSync(join(disk, 'd'))
    writeFileSync(join(disk, 'd/f'), 'one\n')
    chmodSync(join(disk, 'd'), 0o300)
  }),
  thing('a file in a folder that may not be read', 'd/f', (disk) => {
    mkdirSync(join(disk, 'd'))
    writeFileSync(join(disk, 'd/f'), 'one\n')
    chmodSync(join(disk, 'd'), 0o300)
  }),
  thing('a file in a folder that may not be searched', 'd/f', (disk) => {
    mkdirSync(join(disk, 'd'))
    writeFileSync(join(disk, 'd/f'), 'one\n')
    chmodSync(join(disk, 'd'), 0o600)
  }),
  thing('nothing in a folder that may not be searched', 'd/none', (disk) => {
    mkdirSync(join(disk, 'd'))
    chmodSync(join(disk, 'd'), 0o600)
  }),
  thing('nothing in folders below one that may not be searched', 'd/none/none', (disk) => {
    mkdirSync(join(disk, 'd'))
    chmodSync(join(disk, 'd'), 0o600)
  }),
  thing('a folder that lists what may not be looked at', 'd', (disk) => {
    mkdirSync(join(disk, 'd'))
    writeFileSync(join(disk, 'd/f'), 'one\n')
    chmodSync(join(disk, 'd'), 0o400)
  }),
  thing('a file in a folder that may not be changed', 'd/f', (disk) => {
    mkdirSync(join(disk, 'd'))
    writeFileSync(join(disk, 'd/f'), 'one\n')
    chmodSync(join(disk, 'd/f'), 0o666)
    chmodSync(join(disk, 'd'), 0o555)
  }),
  thing('nothing in a folder that may not be changed', 'd/none', (disk) => {
    mkdirSync(join(disk, 'd'))
    chmodSync(join(disk, 'd'), 0o555)
  }),
  thing('a file in a set-group-ID folder', 'd/f', (disk) => {
    mkdirSync(join(disk, 'd'))
    chmodSync(join(disk, 'd'), 0o2775)
    writeFileSync(join(disk, 'd/f'), 'one\n')
  }),
  thing('nothing in a set-group-ID folder', 'd/none/f', (disk) => {
    mkdirSync(join(disk, 'd'))
    chmodSync(join(disk, 'd'), 0o2775)
  }),
  thing('a pipe', 'f', (disk) => execFileSync('mkfifo', [join(disk, 'f')])),
  thing('below a pipe', 'f/child', (disk) => execFileSync('mkfifo', [join(disk, 'f')])),
  thing('nothing', 'none', furniture),
  thing('nothing in missing folders', 'x/y/none', furniture),
  thing('below a file', 'a.txt/child', furniture),
  thing('far below a file', 'a.txt/x/y', furniture),
  link('a link to a file', 'a.txt'),
  link('a link to a file, by its whole path', (disk) => join(disk, 'a.txt')),
  link('a link to a folder', 'sub'),
  link('a link to the folder above', '..'),
  link('a file through a link to its folder', 'sub', 'f/inner'),
  link('nothing through a link to a folder', 'sub', 'f/none'),
  link('a link to nothing', 'nowhere'),
  link('a link to nothing in missing folders', 'x/y/nowhere'),
  link('below a link to nothing', 'nowhere', 'f/child'),
  link('far below a link to nothing', 'nowhere', 'f/x/y'),
  link('a link to itself', 'f'),
  link('below a link to itself', 'f', 'f/child'),
  link('a link to below a file', 'a.txt/child'),
  link('below a link to a file', 'a.txt', 'f/child'),
  link('below a link to below a file', 'a.txt/child', 'f/x'),
  thing('a link to a link', 'f', (disk) => {
    furniture(disk)
    symlinkSync('g', join(disk, 'f'))
    symlinkSync('sub/inner', join(disk, 'g'))
  }),
  thing('a link to a link to nothing', 'f', (disk) => {
    symlinkSync('g', join(disk, 'f'))
    symlinkSync('nowhere', join(disk, 'g'))
  }),
  thing('two links to each other', 'f', (disk) => {
    symlinkSync('g', join(disk, 'f'))
    symlinkSync('f', join(disk, 'g'))
  }),
  thing('a link with a way up behind a link', 'f', (disk) => {
    furniture(disk)
    mkdirSync(join(disk, 'sub/deep'))
    symlinkSync('sub/deep', join(disk, 'short'))
    symlinkSync('short/../inner', join(disk, 'f'))
  }),
  thing('a chain of links as long as may be', 'f', (disk) => {
    writeFileSync(join(disk, 'l40'), 'one\n')
    for (let at = 39; at > 0; at -= 1) symlinkSync(`l${at + 1}`, join(disk, `l${at}`))
    symlinkSync('l1', join(disk, 'f'))
  }),
  thing('a chain of links that is too long', 'f', (disk) => {
    writeFileSync(join(disk, 'l50'), 'one\n')
    for (let at = 49; at > 0; at -= 1) symlinkSync(`l${at + 1}`, join(disk, `l${at}`))
    symlinkSync('l1', join(disk, 'f'))
  }),
]

export interface Question {
  readonly title: string
  /** Changes something: asked in a fresh folder. */
  readonly changes: boolean
  ask(world: World, path: string): Promise<unknown>
}

const target = ({ fs, folder }: World, path: string): Promise<FsTarget> => fs.resolve(path, { cwd: folder })

/** The version that a reader holds, who looked and then read. */
async function seenBy({ fs }: World, found: FsTarget): Promise<FsVersion> {
  const info = await fs.stat(found)
  // Some of them may be replaced and not read.
  if (info?.type === 'file')
    await fs.readBytes(found, undefined, 8 * DIFF_LIMIT).catch((_denied: unknown) => undefined)
  return info?.version ?? ('none' as FsVersion)
}

/** A folder's own size is the file system's affair. */
function sized<T extends { readonly type: string; readonly size?: number }>(info: T | undefined): unknown {
  return info?.type === 'directory' ? { ...info, size: undefined } : info
}

const looking = (title: string, ask: Question['ask']): Question => ({ title, changes: false, ask })
const changing = (title: string, ask: Question['ask']): Question => ({ title, changes: true, ask })

const edit = (title: string, oldString: string, newString: string, replaceAll = false): Question =>
  changing(title, async (world, path) =>
    world.fs.editText(await target(world, path), { oldString, newString, replaceAll }),
  )

export const QUESTIONS: readonly Question[] = [
  looking('resolve', async (world, path) => target(world, path)),
  looking('where it is', async (world, path) => {
    const found = await target(world, path)
    return [found.displayPath, world.fs.contains(await target(world, '.'), found)]
  }),
  looking('lstat', async ({ fs, folder }, path) => sized(await fs.lstat(path, { cwd: folder }))),
  looking('stat', async (world, path) => sized(await world.fs.stat(await target(world, path)))),
  looking('read text', async (world, path) => hashed(await world.fs.readText(await target(world, path)))),
  looking('stream text', async (world, path) => {
    let text = ''
    for await (const chunk of await world.fs.streamText(await target(world, path))) text += chunk
    return hashed(text)
  }),
  looking('read bytes', async (world, path) =>
    hashed(await world.fs.readBytes(await target(world, path), undefined, 8 * DIFF_LIMIT)),
  ),
  looking('read no more than three bytes', async (world, path) =>
    hashed(await world.fs.readBytes(await target(world, path), undefined, 3)),
  ),
  looking('list', async (world, path) => world.fs.listDir(await target(world, path))),
  looking('one version in every answer', async (world, path) => {
    const found = await target(world, path)
    const info = await world.fs.stat(found)
    const above = await world.fs.listDir(await target(world, `${path}/..`))
    const listed = above.find((entry) => entry.target.targetKey === found.targetKey)
    return [sized(info), listed?.version === info?.version]
  }),
  changing('write', async (world, path) => world.fs.writeText(await target(world, path), 'new\r\ntext\n')),
  changing('write nothing', async (world, path) => world.fs.writeText(await target(world, path), '')),
  changing('write characters of every length', async (world, path) =>
    world.fs.writeText(await target(world, path), 'a\u00e9你🙂\ud800.'),
  ),
  changing('write a text as long as the limit of comparing', async (world, path) => {
    const outcome = await world.fs.writeText(await target(world, path), 'y'.repeat(DIFF_LIMIT))
    return { ...outcome, before: hashed(outcome.before), after: hashed(outcome.after) }
  }),
  changing('create', async (world, path) =>
    world.fs.writeText(await target(world, path), 'created\n', { kind: 'createIfAbsent' }),
  ),
  changing('write over the version that was seen', async (world, path) => {
    const found = await target(world, path)
    const version = await seenBy(world, found)
    const outcome = await world.fs.writeText(found, 'seen\n', { kind: 'replaceIfVersion', version })
    const after = await world.fs.stat(found)
    return [{ ...outcome, before: hashed(outcome.before) }, after?.version === outcome.version]
  }),
  changing('write over another version', async (world, path) => {
    const version = 'another' as FsVersion
    return world.fs.writeText(await target(world, path), 'seen\n', { kind: 'replaceIfVersion', version })
  }),
  edit('edit', 'one', 'ONE $& $1'),
  edit('edit every match', 'o', '0', true),
  edit('edit across lines', 'one\ntwo', 'two\r\none'),
  edit('edit what is not there', 'nowhere to be found', 'x'),
  edit('edit nothing', '', 'x'),
  changing('edit the version that was seen, twice', async (world, path) => {
    const found = await target(world, path)
    const version = await seenBy(world, found)
    const change = { oldString: 'o', newString: 'oo', replaceAll: true }
    const first = await world.fs.editText(found, change, { version })
    const second = await world.fs.editText(found, change, { version: first.version })
    return [hashed(second.before), hashed(second.after)]
  }),
  changing('edit another version', async (world, path) =>
    world.fs.editText(
      await target(world, path),
      { oldString: 'one', newString: 'x', replaceAll: true },
      { version: 'another' as FsVersion },
    ),
  ),
]

/** What is asked of servers that differ in how they save and read, not in how paths are understood. */
export const ESSENTIAL: readonly Question[] = QUESTIONS.filter(({ title }) =>
  [
    'read text',
    'list',
    'one version in every answer',
    'write',
    'create',
    'write over the version that was seen',
    'edit every match',
  ].includes(title),
)

/** What is long by its length and a hash, so that a difference can be read. */
function hashed(content: string | Uint8Array | null): string | null {
  if (content === null || (typeof content === 'string' && content.length <= 200)) return content
  return `${content.length} long, ${hashOf(content)}`
}
