/** The simulated consumers of later hosts, on a machine that is there and on one that is not. */
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { Mounts } from '../../src/places/mounts.ts'
import { entryOf } from '../support/host.ts'
import { startRig, type Rig } from '../support/rig.ts'
import { FileTree, WorkingDirectory } from './consumers.ts'
import { setStage, SHAPES, type Stage } from './stage.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())

/** A name with what a URL and a shell would take for something else. */
const ODD = 'a b#c%20d?é.txt'

describe.each(SHAPES)('on the classes of %s', (version, shape) => {
  let stage: Stage
  let folder = ''
  let mount = ''
  let count = 0

  beforeAll(async () => {
    stage = await setStage(shape, entryOf(rig.server))
  })
  afterAll(() => stage.stop())
  beforeEach(() => {
    folder = join(realpathSync(rig.folder), `${version}-${(count += 1)}`)
    mount = stage.mount(folder)
    mkdirSync(join(folder, 'sub/deep'), { recursive: true })
    writeFileSync(join(folder, 'f'), '0123456789')
    writeFileSync(join(folder, 'sub', ODD), 'odd')
  })

  describe('the file tree', () => {
    it('unfolds folder by folder, by the paths the page makes, under names of any kind', async () => {
      symlinkSync('sub', join(folder, 'linked'))
      symlinkSync('/etc', join(folder, 'outside'))
      const tree = new FileTree(stage.fs, mount)
      expect(await tree.list(mount)).toEqual({
        path: '',
        entries: [
          { name: 'f', type: 'file' },
          { name: 'linked', type: 'directory' },
          { name: 'outside', type: 'directory' },
          { name: 'sub', type: 'directory' },
        ],
      })
      const sub = FileTree.below(`${mount}/`, 'sub')
      expect(await tree.list(sub)).toEqual({
        path: 'sub',
        entries: [
          { name: ODD, type: 'file' },
          { name: 'deep', type: 'directory' },
        ],
      })
      expect((await tree.list(FileTree.below(sub, 'deep'))).path).toBe('sub/deep')
      expect((await tree.list(FileTree.below(mount, 'linked'))).path).toBe('sub')
      await expect(tree.list(FileTree.below(mount, 'outside'))).rejects.toThrow('outside-workspace')
      await expect(tree.list(FileTree.below(mount, 'f'))).rejects.toThrow('not-directory: file')
      await expect(tree.list(FileTree.below(mount, 'none'))).rejects.toThrow('not-found')
    })

    it('opens files whole and in parts, and refuses what is none', async () => {
      symlinkSync('f', join(folder, 'linked'))
      const tree = new FileTree(stage.fs, mount)
      const odd = FileTree.below(FileTree.below(mount, 'sub'), ODD)
      expect(await tree.read(odd)).toBe('odd')
      expect(await tree.readBytes(FileTree.below(mount, 'f'))).toBe('0123456789')
      expect(await tree.readBytes(FileTree.below(mount, 'f'), { offset: 8, length: 10 })).toBe('89')
      await expect(tree.read(FileTree.below(mount, 'linked'))).rejects.toThrow('not-regular-file: symlink')
      await expect(tree.read(FileTree.below(mount, 'sub'))).rejects.toThrow('not-regular-file: directory')
    })

    it('C49: unfolds and opens every name by the paths that the page makes of it', async () => {
      const tree = new FileTree(stage.fs, mount)
      const odd = join(folder, 'odd')
      const names = [
        '%20',
        '%',
        'a#b?c',
        ' lead',
        'trail ',
        'dot.',
        'new\nline',
        'cr\r',
        'bell\u0007',
        '-rf',
        '~',
        'é',
        'e\u0301',
      ]
      mkdirSync(odd)
      for (const name of [...names, 'back\\slash', '🙂']) {
        mkdirSync(join(odd, name))
        writeFileSync(join(odd, name, name), `in ${name}`)
        const below = FileTree.below(FileTree.below(mount, 'odd'), name)
        expect(await tree.list(below)).toEqual({ path: `odd/${name}`, entries: [{ name, type: 'file' }] })
        expect(await tree.read(FileTree.below(below, name))).toBe(`in ${name}`)
      }
      const raw = Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.of(0xe9)])
      writeFileSync(raw, 'raw')
      expect((await tree.list(mount)).entries).toContainEqual({ name: 'caf\ufffd', type: 'file' })
      expect(await tree.read(FileTree.below(mount, 'caf\ufffd'))).toBe('raw')
      writeFileSync(join(folder, 'caf\ufffd'), 'decoy')
      const both = (await tree.list(mount)).entries.filter(({ name }) => name === 'caf\ufffd')
      expect(both.map(({ type }) => type).toSorted()).toEqual(['file', 'other'])
    })

    it('finds a file that another one names', async () => {
      const tree = new FileTree(stage.fs, mount)
      const odd = FileTree.below(FileTree.below(mount, 'sub'), ODD)
      expect(await tree.readBytes(await tree.related(odd, '../f'))).toBe('0123456789')
    })

    it('hears of a change, and knows a target again by its key when a tool wrote it', async () => {
      const tree = new FileTree(stage.fs, mount)
      const path = FileTree.below(mount, 'f')
      const heard = Promise.withResolvers<unknown>()
      const stop = await tree.follow(path, heard.resolve)
      const written = await stage.fs.resolve('f', { cwd: mount })
      await stage.fs.writeText(written, 'changed, and longer')
      expect(await heard.promise).toMatchObject({ type: 'file', size: 19 })
      expect((await tree.locate(path)).target.targetKey).toBe(written.targetKey)
      await stop()
    })
  })

  it('C10: the working directory is one before every turn, follows the model, and falls back when it is gone', async () => {
    const directory = new WorkingDirectory(stage.fs, mount)
    expect(await directory.ensure()).toBe(mount)
    expect(await directory.set('sub')).toBe(join(mount, 'sub'))
    expect(await directory.set('deep')).toBe(join(mount, 'sub/deep'))
    await expect(directory.set('none')).rejects.toThrow('directory does not exist: none')
    expect(await directory.ensure()).toBe(join(mount, 'sub/deep'))
    rmSync(join(folder, 'sub/deep'), { recursive: true })
    expect(await directory.ensure()).toBe(mount)
  })

  it('C03: while the machine is away its sessions can still talk, and no folder is shown empty', async () => {
    const place = { machine: 'demo', path: parseRemotePath(folder) }
    stage.presence.workspaces.add(place, 'demo')
    const tree = new FileTree(stage.fs, mount)
    await tree.list(mount)
    const unrecorded = join(mount, 'sub')
    await rig.server.stop()
    try {
      expect(await new WorkingDirectory(stage.fs, mount).ensure()).toBe(mount)
      expect(await new WorkingDirectory(stage.fs, stage.mount('/')).ensure()).toBe(stage.mount('/'))
      expect(await stage.fs.lstat(mount)).toMatchObject({ type: 'directory' })
      const step = { cwd: unrecorded, phase: 'step' as const, named: [] }
      expect(
        await stage.classes.onBehalfOf(step, () => new WorkingDirectory(stage.fs, unrecorded).ensure()),
      ).toBe(unrecorded)

      const away = { code: 'FS_IO_ERROR', message: expect.stringContaining('demo') as string }
      await expect(tree.list(mount)).rejects.toMatchObject(away)
      await expect(tree.read(FileTree.below(mount, 'f'))).rejects.toMatchObject(away)
      await expect(tree.follow(FileTree.below(mount, 'f'), () => undefined)).rejects.toMatchObject(away)
      await expect(new WorkingDirectory(stage.fs, unrecorded).ensure()).rejects.toMatchObject(away)
      const left = AbortSignal.abort()
      await expect(stage.fs.lstat(mount, undefined, left)).rejects.toMatchObject({ code: 'FS_ABORTED' })
    } finally {
      await rig.server.restart()
    }
    expect((await tree.list(mount)).entries.length).toBeGreaterThan(0)
  })
})

it('a path that the page made on Windows, with both separators, is the same place', () => {
  const root = 'C:\\Users\\me\\.dsh\\presence\\mounts'
  const mounts = new Mounts({ root, realRoot: root, platform: 'win32', isMachine: (name) => name === 'demo' })
  const workspace = mounts.format({ machine: 'demo', path: parseRemotePath('/srv/project') })
  expect(mounts.parse(FileTree.below(FileTree.below(workspace, 'sub'), 'f'))).toEqual({
    machine: 'demo',
    path: '/srv/project/sub/f',
  })
})
