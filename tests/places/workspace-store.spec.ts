import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { Mounts } from '../../src/places/mounts.ts'
import { WorkspaceStore } from '../../src/places/workspace-store.ts'

let folder = ''
let warnings: string[] = []

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'presence-store-')))
  warnings = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open(): WorkspaceStore {
  const root = join(folder, 'mounts')
  const mounts = new Mounts({ root, realRoot: root, platform: 'linux', isMachine: () => true })
  return new WorkspaceStore(join(folder, 'workspaces.json'), mounts, (text) => void warnings.push(text))
}

const app = { machine: 'demo', path: parseRemotePath('/srv/app') }
const sub = { machine: 'demo', path: parseRemotePath('/srv/app/sub') }

it('keeps workspaces over a restart and makes their markers again', () => {
  const store = open()
  store.add(app, 'My app')
  store.activate(app)
  rmSync(join(folder, 'mounts'), { recursive: true })
  const again = open()
  expect(again.list()).toEqual([{ ...app, title: 'My app' }])
  expect(readdirSync(join(folder, 'mounts/demo/srv/app'))).toEqual([])
  expect(again.active?.path).toBe('/srv/app')
})

it('answers the same record for the same place', () => {
  const store = open()
  store.add(app, 'first')
  expect(store.add(app, 'second').title).toBe('first')
  expect(store.list()).toHaveLength(1)
})

it('makes nothing current that nobody chose', () => {
  const store = open()
  let changes = 0
  store.changed.on(() => (changes += 1))
  store.add(app, 'app')
  expect([store.active, changes]).toEqual([undefined, 1])
  store.activate(app)
  expect([store.active?.path, changes]).toEqual(['/srv/app', 2])
  store.remove(app)
  expect([store.active, changes]).toEqual([undefined, 3])
})

it('removes only empty marker folders that no other workspace needs', () => {
  const store = open()
  store.add(app, 'app')
  store.add(sub, 'sub')
  store.remove(app)
  expect(existsSync(join(folder, 'mounts/demo/srv/app/sub'))).toBe(true)
  store.remove(sub)
  expect(readdirSync(join(folder, 'mounts'))).toEqual([])
})

it('never removes a file that somebody put under a marker', () => {
  const store = open()
  store.add(app, 'app')
  writeFileSync(join(folder, 'mounts/demo/srv/app/keep.txt'), 'mine')
  store.remove(app)
  expect(readFileSync(join(folder, 'mounts/demo/srv/app/keep.txt'), 'utf8')).toBe('mine')
})

it('keeps a record that it cannot read, and starts empty with a warning', () => {
  writeFileSync(join(folder, 'workspaces.json'), '{"workspaces": [{"host": 1}]}')
  expect(open().list()).toEqual([])
  expect(warnings.join()).toContain('workspaces.json.unreadable')
  expect(readFileSync(join(folder, 'workspaces.json.unreadable'), 'utf8')).toContain('"host": 1')
})

it('starts with a warning when its folder cannot be written', () => {
  mkdirSync(join(folder, 'file'))
  writeFileSync(join(folder, 'mounts'), 'not a folder')
  writeFileSync(
    join(folder, 'workspaces.json'),
    JSON.stringify({ workspaces: [{ host: 'demo', path: '/srv', title: 't' }], active: null }),
  )
  expect(open().list()).toHaveLength(1)
  expect(warnings.join()).toContain('the marker of demo:/srv cannot be made')
})
