import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { FsError, type FsTarget } from '@deepseek-ai/dsh-fs'
import { SandboxedFileSystem } from '@deepseek-ai/dsh-fs-sandbox'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBehalfOf } from '../../src/core/current-session.ts'
import { startSeams, type SeamRig } from '../support/seams.ts'

let rig: SeamRig
let remoteFolder = ''
let localFolder = ''
let mountFolder = ''
let count = 0

beforeAll(async () => {
  rig = await startSeams()
})
afterAll(() => rig.stop())
beforeEach(() => {
  count += 1
  remoteFolder = join(realpathSync(rig.folder), `r${count}`)
  localFolder = join(rig.local, `l${count}`)
  mountFolder = rig.mount(remoteFolder)
  for (const folder of [remoteFolder, localFolder]) mkdirSync(folder)
})

/** What a call gave, with the two worlds' folders made the same word; a failure is its code. */
async function outcome(folder: string, call: (folder: string) => Promise<unknown>): Promise<unknown> {
  const neutral = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value ?? null, (key, inner: unknown) =>
        key === 'version'
          ? typeof inner
          : inner instanceof Uint8Array
            ? Buffer.from(inner).toString('hex')
            : inner,
      )
        .replaceAll(`presence://demo${remoteFolder}`, '<folder>')
        .replaceAll(mountFolder, '<folder>')
        .replaceAll(localFolder, '<folder>'),
    )
  try {
    return neutral(await call(folder))
  } catch (error) {
    if (!(error instanceof FsError)) throw error
    return neutral({ code: error.code, message: error.message })
  }
}

/** The same on disk in both worlds, then the same call through the seam in both: the same outcome. */
async function same(
  prepare: (folder: string) => void,
  call: (folder: string) => Promise<unknown>,
): Promise<unknown> {
  prepare(localFolder)
  prepare(remoteFolder)
  const here = await outcome(localFolder, call)
  const there = await outcome(mountFolder, call)
  expect(there).toEqual(here)
  expect(onDisk(remoteFolder)).toEqual(onDisk(localFolder))
  return here
}

function onDisk(folder: string): unknown {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const name = path.slice(folder.length)
      if (!entry.isFile()) return `${name} ${entry.isSymbolicLink() ? 'link' : 'folder'}`
      const { mode, nlink } = statSync(path)
      return `${name} ${(mode & 0o7777).toString(8)} ${nlink} ${readFileSync(path).toString('hex')}`
    })
    .toSorted()
}

const target = (folder: string, name = '.'): Promise<FsTarget> => rig.fs.resolve(name, { cwd: folder })

it('is the host’s own file system class, so that the host’s checks by class hold', () => {
  expect(rig.fs).toBeInstanceOf(SandboxedFileSystem)
  expect(rig.fs.sandboxMode).toBe('danger-full-access')
})

describe('both worlds answer alike', () => {
  const files = (folder: string): void => {
    mkdirSync(join(folder, 'sub/deeper'), { recursive: true })
    writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n')
    writeFileSync(join(folder, 'crlf'), 'one\r\ntwo\r\n')
    writeFileSync(join(folder, 'bom'), '\ufeffone\n')
    writeFileSync(join(folder, 'nul'), 'a\0b')
    writeFileSync(join(folder, 'late-nul'), `${'x'.repeat(9000)}\0`)
    writeFileSync(join(folder, 'latin1'), Buffer.from([0x63, 0xe9]))
    writeFileSync(join(folder, 'empty'), '')
    symlinkSync('a.txt', join(folder, 'link'))
    symlinkSync('sub', join(folder, 'folder-link'))
    symlinkSync('nowhere', join(folder, 'dangling'))
    chmodSync(join(folder, 'crlf'), 0o754)
  }
  const names = [
    'a.txt',
    'link',
    'folder-link',
    'dangling',
    'none',
    'none/child',
    'a.txt/child',
    'sub',
    '.',
    'sub/../a.txt',
    'bom',
    'nul',
    'late-nul',
    'latin1',
    'empty',
    'crlf',
  ]

  it.each(names)('about %s: identity, metadata, text, bytes, ranges', async (name) => {
    await same(files, async (folder) => {
      const found: Record<string, unknown> = {}
      const attempt = async (what: string, call: () => Promise<unknown>): Promise<void> => {
        found[what] = await call().catch((error: unknown) => {
          if (error instanceof FsError) return `${error.code} ${error.message}`
          throw error
        })
      }
      await attempt('lstat', () =>
        rig.fs
          .lstat(name, { cwd: folder })
          .then((info) => info && { ...info, size: info.type === 'directory' ? 0 : info.size }),
      )
      await attempt('resolve', () => target(folder, name))
      await attempt('stat', async () => {
        const info = await rig.fs.stat(await target(folder, name))
        return info && { ...info, size: info.type === 'directory' ? 0 : info.size }
      })
      await attempt('readText', async () => rig.fs.readText(await target(folder, name)))
      await attempt('streamText', async () => {
        let text = ''
        for await (const chunk of await rig.fs.streamText(await target(folder, name))) text += chunk
        return text
      })
      await attempt('readBytes', async () => rig.fs.readBytes(await target(folder, name), undefined, 8))
      await attempt('contains', async () => rig.fs.contains(await target(folder), await target(folder, name)))
      return found
    })
  })

  it('listing a folder, a file, and nothing', async () => {
    for (const name of ['.', 'folder-link', 'a.txt', 'none']) {
      await same(
        () => undefined,
        async (folder) => {
          rmSync(join(localFolder, 'x'), { force: true })
          return rig.fs.listDir(await target(folder, name))
        },
      )
    }
    await same(files, async (folder) =>
      (await rig.fs.listDir(await target(folder))).map(({ name, type }) => ({ name, type })),
    )
  })

  it.each([
    ['a new file', 'new', undefined],
    ['a new file in new folders', 'x/y/new', undefined],
    ['over a file', 'a.txt', undefined],
    ['over a file with Windows line ends and a mode', 'crlf', undefined],
    ['through a link', 'link', undefined],
    ['over binary', 'nul', undefined],
    ['onto a folder', 'sub', undefined],
    ['only if absent, absent', 'new', { kind: 'createIfAbsent' as const }],
    ['only if absent, there', 'a.txt', { kind: 'createIfAbsent' as const }],
    ['of a version that is gone', 'none', { kind: 'replaceIfVersion' as const, version: 'x' as never }],
    ['of another version', 'a.txt', { kind: 'replaceIfVersion' as const, version: 'x' as never }],
  ])('writing %s', async (_what, name, intent) => {
    await same(files, async (folder) =>
      rig.fs.writeText(await target(folder, name), 'new\r\ncontent\n', intent),
    )
  })

  it('writing and editing the version that was seen', async () => {
    await same(files, async (folder) => {
      const file = await target(folder, 'a.txt')
      const seen = await rig.fs.stat(file)
      const written = await rig.fs.writeText(file, 'two\n', {
        kind: 'replaceIfVersion',
        version: seen?.version ?? ('' as never),
      })
      return rig.fs.editText(
        file,
        { oldString: 'two', newString: 'three', replaceAll: false },
        { version: written.version },
      )
    })
  })

  it.each([
    ['a.txt', 'one', 'ONE', false],
    ['a.txt', 'o', '0', false],
    ['a.txt', 'o', '0', true],
    ['a.txt', 'none', 'x', false],
    ['a.txt', '', 'x', false],
    ['crlf', 'one\ntwo', 'x\ny', false],
    ['bom', 'one', 'two', false],
    ['nul', 'a', 'b', false],
    ['late-nul', 'x', 'y', true],
    ['none', 'a', 'b', false],
    ['sub', 'a', 'b', false],
    ['link', 'one', 'two', false],
  ])('editing %s: %j to %j', async (name, oldString, newString, replaceAll) => {
    await same(files, async (folder) =>
      rig.fs.editText(await target(folder, name), { oldString, newString, replaceAll }),
    )
  })

  it('breaking hard links and keeping modes', async () => {
    await same(
      (folder) => {
        writeFileSync(join(folder, 'f'), 'x')
        chmodSync(join(folder, 'f'), 0o640)
        linkSync(join(folder, 'f'), join(folder, 'g'))
      },
      async (folder) => rig.fs.writeText(await target(folder, 'f'), 'y'),
    )
  })

  it('paths that say nothing', async () => {
    for (const path of ['', '  ']) {
      await same(
        () => undefined,
        (folder) => rig.fs.resolve(path, { cwd: folder }),
      )
      await same(
        () => undefined,
        (folder) => rig.fs.lstat(path, { cwd: folder }),
      )
    }
  })

  it('a caller who has left', async () => {
    const gone = AbortSignal.abort()
    await same(files, async (folder) => {
      const codes: unknown[] = []
      const file = await target(folder, 'a.txt')
      for (const call of [
        () => rig.fs.resolve('a.txt', { cwd: folder, signal: gone }),
        () => rig.fs.stat(file, gone),
        () => rig.fs.readText(file, gone),
        () => rig.fs.writeText(file, 'x', undefined, gone),
        () => rig.fs.listDir(file, gone),
      ]) {
        codes.push(await call().catch((error: unknown) => (error as FsError).code))
      }
      return codes
    })
  })
})

describe('a remote target', () => {
  it('has one key for every spelling, and a path that routes again', async () => {
    writeFileSync(join(remoteFolder, 'f'), 'x')
    symlinkSync(remoteFolder, join(remoteFolder, 'self'))
    const direct = await rig.fs.resolve(join(mountFolder, 'f'))
    const linked = await rig.fs.resolve('self/f', { cwd: mountFolder })
    const absolute = await rig.fs.resolve(join(remoteFolder, 'f'), { cwd: mountFolder })
    expect(new Set([direct.targetKey, linked.targetKey, absolute.targetKey])).toEqual(
      new Set([`presence://demo${remoteFolder}/f`]),
    )
    expect((await rig.fs.resolve(rig.fs.processPath(linked))).targetKey).toBe(direct.targetKey)
    expect(direct.displayPath).toBe(join(mountFolder, 'f'))
    expect(new URL(rig.fs.fileUrl(direct)).pathname).toBe(join(mountFolder, 'f'))
  })

  it('C11: is never inside a local one, nor the other way round', async () => {
    const here = await rig.fs.resolve(localFolder)
    const there = await rig.fs.resolve(mountFolder)
    expect([rig.fs.contains(here, there), rig.fs.contains(there, here)]).toEqual([false, false])
  })

  it('reads ranges and tells of changes, as later hosts ask', async () => {
    writeFileSync(join(remoteFolder, 'f'), '0123456789')
    const file = await rig.fs.resolve(join(mountFolder, 'f'))
    expect(Buffer.from(await rig.fs.readByteRange(file, { offset: 8, length: 5 })).toString()).toBe('89')
    expect((await rig.fs.readByteRange(file, { offset: 20, length: 5 })).length).toBe(0)
    const leave = new AbortController()
    const changed = Promise.withResolvers<void>()
    const stop = await rig.fs.watch(file, () => changed.resolve(), leave.signal)
    writeFileSync(join(remoteFolder, 'f'), 'changed')
    await changed.promise
    await stop()
    leave.abort()
    await expect(
      rig.fs.watch(await rig.fs.resolve(localFolder), () => undefined, leave.signal),
    ).rejects.toMatchObject({ code: 'FS_IO_ERROR' })
  })

  it('has no path for a host file, which no machine can see', () => {
    expect(rig.fs.processPathFromHostPath(join(localFolder, 'x'))).toBe(join(localFolder, 'x'))
    expect(rig.fs.processPathFromHostPath(join(mountFolder, 'x'))).toBeUndefined()
  })
})

describe('the sandbox fence', () => {
  const policy = (mode: 'read-only' | 'workspace-write' | 'danger-full-access', root = mountFolder) => ({
    mode,
    workspaceRoot: root,
  })

  it('denies in the host’s own class and words', async () => {
    const file = await target(mountFolder, 'f')
    const outside = await rig.fs.resolve('/etc/presence-denied', { cwd: mountFolder })
    for (const call of [
      () => rig.fs.writeText(file, 'x', undefined, undefined, policy('read-only')),
      () => rig.fs.writeText(file, 'x', undefined, undefined, policy('workspace-write', localFolder)),
      () => rig.fs.writeText(outside, 'x', undefined, undefined, policy('workspace-write')),
    ]) {
      const error: unknown = await call().catch((failure: unknown) => failure)
      expect(error).toBeInstanceOf(FsError)
      expect(error).toMatchObject({
        code: 'FS_SANDBOX_DENIED',
        message: expect.stringMatching(/file access denied under (read-only|workspace-write) mode/) as string,
      })
    }
    expect(readdirSync(remoteFolder)).toEqual([])
  })

  it('keeps a confined session from what background jobs are told and ended by, in the temporary folder', async () => {
    const job = join('/tmp', `presence-job-${randomBytes(12).toString('hex')}`)
    mkdirSync(job)
    try {
      writeFileSync(join(job, 'pid'), '1 1 1')
      const [pid, beside] = [await rig.fs.resolve(rig.mount(join(job, 'pid'))), `${job}.txt`]
      const write = (target: typeof pid, mode: 'workspace-write' | 'danger-full-access'): Promise<unknown> =>
        rig.fs.writeText(target, 'x', undefined, undefined, policy(mode))
      await expect(write(pid, 'workspace-write')).rejects.toMatchObject({ code: 'FS_SANDBOX_DENIED' })
      expect(readFileSync(join(job, 'pid'), 'utf8')).toBe('1 1 1')
      await write(await rig.fs.resolve(rig.mount(beside)), 'workspace-write')
      rmSync(beside)
    } finally {
      rmSync(job, { recursive: true })
    }
  })

  it('F94, C50: sees a link that was swapped in after the target was resolved', async () => {
    const outside = join(realpathSync(rig.folder), `outside-${count}`)
    mkdirSync(outside)
    mkdirSync(join(remoteFolder, 'sub'))
    const file = await target(mountFolder, 'sub/f')
    rmSync(join(remoteFolder, 'sub'), { recursive: true })
    symlinkSync('/etc', join(remoteFolder, 'sub'))
    await expect(
      rig.fs.writeText(file, 'x', undefined, undefined, policy('workspace-write')),
    ).rejects.toMatchObject({ code: 'FS_SANDBOX_DENIED' })
  })
})

describe('a session on a machine', () => {
  const named = (...texts: string[]): Parameters<typeof onBehalfOf>[0] => ({
    cwd: mountFolder,
    phase: 'tool',
    named: texts,
  })
  const step = (): Parameters<typeof onBehalfOf>[0] => ({ cwd: mountFolder, phase: 'step', named: [] })

  it('C06: means the machine by an absolute path that the model named, and the host’s own places by the host’s paths', async () => {
    const path = join(remoteFolder, 'f')
    const keyOf = async (
      session: Parameters<typeof onBehalfOf>[0] | undefined,
      what: string,
    ): Promise<string> =>
      (session === undefined
        ? await rig.fs.resolve(what)
        : await onBehalfOf(session, () => rig.fs.resolve(what))
      ).targetKey
    expect(await keyOf(named(path), path)).toBe(`presence://demo${path}`)
    expect(await keyOf(named('other'), path)).toBe(path)
    expect(await keyOf(step(), path)).toBe(path)
    expect(await keyOf(undefined, path)).toBe(path)
    const own = join(process.env['DSH_HOME'] ?? '', 'settings.yaml')
    expect(await keyOf(named(own), own)).toBe(own)
  })

  it('C01: finds no repository above the mounts, which a local session finds as ever', async () => {
    const above = join(process.env['DSH_HOME'] ?? '', '..', '.git')
    mkdirSync(above, { recursive: true })
    const found = (session?: Parameters<typeof onBehalfOf>[0]): Promise<unknown> => {
      const look = async (): Promise<unknown> => rig.fs.stat(await rig.fs.resolve(above))
      return session === undefined ? look() : onBehalfOf(session, look)
    }
    expect(await found(step())).toBeUndefined()
    expect(await found()).toMatchObject({ type: 'directory' })
    expect(await found({ cwd: localFolder, phase: 'step', named: [] })).toMatchObject({ type: 'directory' })
  })

  it('C01: finds nothing of this computer in any folder above its own, whatever lies in the markers', async () => {
    const probes = ['.git', 'AGENTS.md']
    const ancestors: string[] = []
    for (let at = mountFolder; at !== dirname(at); at = dirname(at)) ancestors.push(dirname(at))
    const markers = ancestors.filter((folder) => folder.startsWith(rig.mount('/').slice(0, -1)))
    const mounts = dirname(rig.mount('/'))
    const decoys = [mountFolder, ...markers, mounts].flatMap((folder) =>
      probes.map((name) => join(folder, name)),
    )
    mkdirSync(mountFolder, { recursive: true })
    for (const decoy of decoys) writeFileSync(decoy, 'DECOY')
    try {
      for (const folder of [mountFolder, ...ancestors]) {
        const told = await onBehalfOf(step(), async () =>
          rig.fs.stat(await rig.fs.resolve(join(folder, '.git'))),
        )
        expect(told, folder).toBeUndefined()
      }
      for (const folder of [mountFolder, ...markers]) {
        for (const name of probes) {
          const found = await rig.fs.resolve(join(folder, name))
          expect(found.targetKey, folder).toMatch(/^presence:/)
          expect(await rig.fs.stat(found), folder).toBeUndefined()
        }
      }
    } finally {
      for (const decoy of decoys) rmSync(decoy)
    }
  })
})

it('C03: a path of a machine that is not known is refused, in every call', async () => {
  const stray = join(rig.mount('/').replace(/demo\/?$/, 'gone'), 'srv/f')
  await expect(rig.fs.resolve(stray)).rejects.toMatchObject({
    code: 'FS_IO_ERROR',
    message: expect.stringContaining('"gone", which is not known') as string,
  })
  await expect(rig.fs.lstat(stray)).rejects.toBeInstanceOf(FsError)
  await expect(rig.fs.resolve('f', { cwd: join(stray, '..') })).rejects.toBeInstanceOf(FsError)
  expect(await rig.fs.stat(await rig.fs.resolve(join(rig.mount('/'), '../.git')))).toBeUndefined()
})
