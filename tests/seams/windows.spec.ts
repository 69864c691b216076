/** A machine’s files as a host on Windows sees them: local spellings are Windows’, paths on the machine never are. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { childOf, parseRemotePath, type RemotePath } from '../../src/base/remote-path.ts'
import { Presence } from '../../src/core/presence.ts'
import type { Place } from '../../src/places/place.ts'
import { RemoteFileSystem } from '../../src/seams/remote-fs.ts'
import { entryOf } from '../support/host.ts'
import { startRig, type Rig } from '../support/rig.ts'

const FULL = { mode: 'danger-full-access' as const, workspace: undefined }
/** What Windows cannot name, or names otherwise. */
const NAMES = [
  'a:b',
  'con',
  'aux.txt',
  'x.',
  'y ',
  'q?',
  'p%3A',
  '*',
  'in|out',
  '"q"',
  'back\\slash',
  'C:\\x',
  '\u0001',
  'Makefile',
  'makefile',
]

let rig: Rig
let home = ''
let presence: Presence
let files: RemoteFileSystem
let folder: RemotePath
beforeAll(async () => {
  rig = await startRig()
  home = mkdtempSync('/var/tmp/presence-windows-')
  mkdirSync(join(home, 'presence'))
  writeFileSync(join(home, 'presence/machines.yml'), JSON.stringify({ demo: entryOf(rig.server) }))
  presence = new Presence({ DSH_HOME: home }, 'win32')
  files = new RemoteFileSystem(presence, 1000)
  folder = parseRemotePath(realpathSync(rig.folder))
})
afterAll(async () => {
  presence.close()
  await rig.stop()
  rmSync(home, { recursive: true, force: true })
})

const place = (path: RemotePath): Place => ({ machine: 'demo', path })

describe('C53, F101: on Windows', () => {
  it('names that it cannot hold are written, listed and found again by their local spellings', async () => {
    const made = childOf(folder, 'names')
    for (const name of NAMES) {
      const target = await files.resolve(place(childOf(made, name)), undefined)
      await files.writeText(place(childOf(made, name)), target, `in ${name}`, undefined, FULL, undefined)
    }
    expect(readdirSync(made).toSorted()).toEqual(NAMES.toSorted())
    const entries = await files.listDir(place(made), await files.resolve(place(made), undefined), undefined)
    expect(entries.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted())
    for (const { name, target } of entries) {
      expect(target.displayPath).not.toContain('/')
      expect(target.displayPath.slice(target.displayPath.indexOf('mounts'))).not.toMatch(
        /[<>:"|?*]|[. ](\\|$)/,
      )
      const back = presence.mounts.parse(target.displayPath)
      expect(back).toEqual(place(childOf(made, name)))
      expect(await files.resolve(back ?? place(made), undefined)).toEqual(target)
      expect(await files.readText(back ?? place(made), target, undefined)).toBe(`in ${name}`)
    }
  })

  it('a path as long as the machine takes one is used there as it is', async () => {
    const deep = Array.from({ length: 12 }, (_unused, index) => `${index}`.repeat(25)).reduce(childOf, folder)
    const target = await files.resolve(place(childOf(deep, 'f')), undefined)
    expect(target.displayPath.length).toBeGreaterThan(300)
    await files.writeText(place(childOf(deep, 'f')), target, 'deep', undefined, FULL, undefined)
    expect(readFileSync(join(deep, 'f'), 'utf8')).toBe('deep')
    expect(presence.mounts.parse(target.displayPath)).toEqual(place(childOf(deep, 'f')))
  })
})

it('C53: nothing that handles the machine’s paths knows the local path functions', () => {
  const source = join(import.meta.dirname, '../../src')
  const handling = readdirSync(join(source, 'remote'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join('remote', name))
  // Spills of a command's output are files of this computer.
  const local = ['remote/process/output.ts']
  const using = [...handling, 'base/remote-path.ts', 'ssh/channel/sftp.ts', 'seams/remote-fs.ts'].filter(
    (name) => /import \{(?! posix \}).*\} from 'node:path'/.test(readFileSync(join(source, name), 'utf8')),
  )
  expect(handling.length).toBeGreaterThan(20)
  expect(using).toEqual(local)
})
