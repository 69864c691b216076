/**
 * What later hosts ask of the file system, while the machine is there and while it is away, with files on this
 * computer where the markers are: nothing of them is ever served, and nobody waits for the machine twice.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { block } from '../support/configured.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { startRig, type Rig } from '../support/rig.ts'
import { FileTree, WorkingDirectory } from './consumers.ts'
import { takeCalls } from './shapes/recorded.ts'
import { setStage, SHAPES, type Stage } from './stage.ts'

const ENTRIES = 50
const CHANGES = ['writeText', 'editText']
const NEWEST = SHAPES.at(-1)?.[1]
/** A page that looks at everything is answered at once for as long as the attempt took that failed. */
const CONNECT_SECONDS = 2

let rig: Rig
let proxy: Proxy
let config = ''
const outside = process.env['PRESENCE_SSH_CONFIG']
beforeAll(async () => {
  rig = await startRig()
  proxy = await startProxy(rig.server)
  config = mkdtempSync('/var/tmp/presence-away-')
  const lines = [`ConnectTimeout ${CONNECT_SECONDS}`, 'StrictHostKeyChecking no', `Port ${proxy.port}`]
  writeFileSync(join(config, 'config'), block('away', rig.server, ...lines))
  process.env['PRESENCE_SSH_CONFIG'] = join(config, 'config')
})
afterAll(async () => {
  if (outside === undefined) delete process.env['PRESENCE_SSH_CONFIG']
  else process.env['PRESENCE_SSH_CONFIG'] = outside
  await proxy.close()
  await rig.stop()
  rmSync(config, { recursive: true, force: true })
})

describe.each(SHAPES)('on the classes of %s', (version, shape) => {
  let stage: Stage
  let folder = ''
  let mount = ''
  let tree: FileTree
  /** Targets that were resolved while the machine was there. */
  let root: FsTarget
  let file: FsTarget
  let count = 0

  beforeAll(async () => {
    stage = await setStage(shape, { alias: 'away' })
  })
  afterAll(() => stage.stop())
  beforeEach(async () => {
    folder = join(realpathSync(rig.folder), `${version}-${(count += 1)}`)
    mount = stage.mount(folder)
    mkdirSync(join(folder, 'sub'), { recursive: true })
    writeFileSync(join(folder, 'f'), '0123456789')
    for (let index = 0; index < ENTRIES; index += 1) writeFileSync(join(folder, 'sub', `f${index}`), '')
    stage.presence.workspaces.add({ machine: 'demo', path: parseRemotePath(folder) }, 'demo')
    // What must not be there, and must never be seen if it is.
    mkdirSync(join(mount, 'sub'), { recursive: true })
    mkdirSync(join(mount, 'decoy'))
    writeFileSync(join(mount, 'f'), 'DECOY')
    writeFileSync(join(mount, 'sub/decoy'), 'DECOY')
    tree = new FileTree(stage.fs, mount)
    root = await stage.fs.resolve(mount)
    file = await stage.fs.resolve('f', { cwd: mount })
    takeCalls()
  })

  /** Everything that is asked of one path, each with what must come of it. */
  function questions(path: string, target: FsTarget): Readonly<Record<string, () => Promise<unknown>>> {
    const { fs } = stage
    const { signal } = new AbortController()
    const all = async (pieces: Promise<AsyncIterable<string>>): Promise<string> => {
      let text = ''
      for await (const piece of await pieces) text += piece
      return text
    }
    return {
      resolve: () => fs.resolve(path, { cwd: mount, signal }),
      lstat: () => fs.lstat(path, { cwd: mount }, signal),
      stat: () => fs.stat(target, signal),
      listDir: () => fs.listDir(target, signal),
      readText: () => fs.readText(target, signal),
      streamText: () => all(fs.streamText(target, signal)),
      readBytes: () => fs.readBytes(target, signal, 1000),
      readByteRange: () => fs.readByteRange(target, { offset: 1, length: 3 }, signal),
      watch: () => fs.watch(target, () => undefined, signal),
      writeText: () => fs.writeText(target, 'x', undefined, signal),
      editText: () =>
        fs.editText(target, { oldString: '0', newString: 'x', replaceAll: false }, undefined, signal),
    }
  }

  /** What needs no machine is the same whether it is there or not. */
  function expectSpellings(): void {
    const { fs } = stage
    expect([fs.contains(root, file), fs.contains(file, root), fs.contains(root, root)]).toEqual([
      true,
      false,
      true,
    ])
    expect([fs.processPath(root), fs.processPath(file)]).toEqual([mount, join(mount, 'f')])
    expect(fs.fileUrl(file)).toBe(pathToFileURL(join(mount, 'f')).href)
    expect(fs.processPathFromHostPath(join(mount, 'f'))).toBeUndefined()
  }

  async function isAway(): Promise<void> {
    proxy.reset()
    proxy.freeze()
    const machine = stage.presence.machine('demo')
    while (machine.current !== undefined) await new Promise((resolve) => setImmediate(resolve))
  }

  async function isBack(): Promise<void> {
    proxy.thaw()
    // As the panel does it for a person; the host's own looks would have to wait until another try is due.
    await stage.presence.machine('demo').session()
  }

  it('C03: while it is there, everything is the machine’s, whatever lies under its marker', async () => {
    const asked = questions('f', file)
    expect(await asked['stat']?.()).toMatchObject({ type: 'file', size: 10 })
    expect(await asked['lstat']?.()).toMatchObject({ type: 'file', size: 10 })
    expect(await asked['readText']?.()).toBe('0123456789')
    expect(await asked['streamText']?.()).toBe('0123456789')
    expect(Buffer.from((await asked['readByteRange']?.()) as Uint8Array).toString()).toBe('123')
    expect((await tree.list(mount)).entries.map(({ name }) => name)).toEqual(['f', 'sub'])
    expect((await tree.list(FileTree.below(mount, 'sub'))).entries).toHaveLength(ENTRIES)
    await expect(tree.list(FileTree.below(mount, 'decoy'))).rejects.toThrow('not-found')
    expectSpellings()
    expect(await new WorkingDirectory(stage.fs, mount).ensure()).toBe(mount)
    expect(takeCalls()).toEqual([])
  })

  it('C03: while it is away, its root is known to be a folder, and everything else is refused by its name', async () => {
    const below = await stage.fs.resolve('sub/f1', { cwd: mount })
    await isAway()
    try {
      const { made } = proxy
      expect(await new WorkingDirectory(stage.fs, mount).ensure()).toBe(mount)
      const known = questions(mount, root)
      expect(await known['resolve']?.()).toMatchObject({ targetKey: root.targetKey })
      expect(await known['lstat']?.()).toMatchObject({ type: 'directory' })
      expect(await known['stat']?.()).toMatchObject({ type: 'directory' })
      const refused = { code: 'FS_IO_ERROR', message: expect.stringContaining('demo') as string }
      const looks = (path: string, target: FsTarget): [string, () => Promise<unknown>][] =>
        Object.entries(questions(path, target)).filter(([method]) => !CHANGES.includes(method))
      for (const [method, ask] of looks(mount, root)) {
        if (['resolve', 'lstat', 'stat'].includes(method)) continue
        await expect(ask(), `${method} of the root`).rejects.toMatchObject(refused)
      }
      for (const [path, target] of [
        ['f', file],
        ['sub/f1', below],
      ] as const) {
        for (const [method, ask] of looks(path, target)) {
          await expect(ask(), `${method} of ${path}`).rejects.toMatchObject(refused)
        }
      }
      for (const path of ['sub', 'decoy', 'none', '.git']) {
        await expect(stage.fs.lstat(path, { cwd: mount }), path).rejects.toMatchObject(refused)
      }
      await expect(tree.list(mount)).rejects.toMatchObject(refused)
      expectSpellings()
      expect(proxy.made - made).toBe(1)
      const changing = CHANGES.map((method) => questions('f', file)[method]?.())
      for (const change of await Promise.allSettled(changing)) {
        expect(change).toMatchObject({ status: 'rejected', reason: refused })
      }
      expect(takeCalls()).toEqual([])
    } finally {
      await isBack()
    }
    expect((await tree.list(mount)).entries.map(({ name }) => name)).toEqual(['f', 'sub'])
    expect(readFileSync(join(folder, 'f'), 'utf8')).toBe('0123456789')
    expect(readFileSync(join(mount, 'f'), 'utf8')).toBe('DECOY')
  })

  // How long anybody waits is no matter of the host's classes.
  if (shape !== NEWEST) return

  it('C31: a tree that looks at many things of a machine that is away waits for it once, one by one and all at once', async () => {
    const names = Array.from({ length: ENTRIES }, (_unused, index) => `sub/f${index}`)
    const look = async (name: string): Promise<unknown> =>
      stage.fs.lstat(name, { cwd: mount }).catch((error: unknown) => (error as { code?: unknown }).code)
    await isAway()
    try {
      const { made } = proxy
      const answers: unknown[] = []
      for (const name of names) answers.push(await look(name))
      answers.push(...(await Promise.all(names.map(look))))
      expect(new Set(answers)).toEqual(new Set(['FS_IO_ERROR']))
      expect(proxy.made - made).toBe(1)
    } finally {
      await isBack()
    }
  })

  it('C31: a machine that falls silent costs one unanswered question and one attempt, however many ask', async () => {
    const session = await stage.presence.machine('demo').session()
    await stage.fs.stat(file)
    session.link.requestMs = 200
    proxy.freeze()
    try {
      const { made } = proxy
      const answers: unknown[] = []
      for (let index = 0; index < ENTRIES; index += 1) {
        answers.push(await stage.fs.stat(file).catch((error: unknown) => (error as { code?: unknown }).code))
      }
      expect(new Set(answers)).toEqual(new Set(['FS_IO_ERROR']))
      expect(proxy.made - made).toBe(1)
    } finally {
      await isBack()
    }
  })

  it('C27: each tool call of the model tries once, and the next one tries again', async () => {
    await isAway()
    try {
      const { made } = proxy
      const call = async (): Promise<unknown[]> => {
        const session = { cwd: mount, phase: 'tool' as const, began: performance.now(), named: [] }
        return stage.classes.onBehalfOf(session, async () => [
          await new WorkingDirectory(stage.fs, mount).ensure(),
          await stage.fs.readText(file).catch((error: unknown) => (error as { code?: unknown }).code),
        ])
      }
      expect(await call()).toEqual([mount, 'FS_IO_ERROR'])
      expect(proxy.made - made).toBe(1)
      expect(await call()).toEqual([mount, 'FS_IO_ERROR'])
      expect(proxy.made - made).toBe(2)
    } finally {
      await isBack()
    }
  })
})
