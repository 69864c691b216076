import { describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { Mounts } from '../../src/places/mounts.ts'
import { placeKey, placeOfKey } from '../../src/places/place.ts'

const machines = new Set(['demo', 'gpu-2', 'user@box:2200', '[::1]:22'])
const mounts = new Mounts({
  root: '/home/u/.dsh/presence/mounts',
  realRoot: '/data/u/.dsh/presence/mounts',
  platform: 'linux',
  isMachine: (name) => machines.has(name),
})
const windows = new Mounts({
  root: 'C:\\Users\\U\\.dsh\\presence\\mounts',
  realRoot: 'C:\\Users\\U\\.dsh\\presence\\mounts',
  platform: 'win32',
  isMachine: (name) => machines.has(name),
})
const place = (
  machine: string,
  path: string,
): { machine: string; path: ReturnType<typeof parseRemotePath> } => ({
  machine,
  path: parseRemotePath(path),
})

describe('a path under the mounts', () => {
  it.each(['/home/u/.dsh/presence/mounts', '/data/u/.dsh/presence/mounts'])(
    'C02: is remote by its spelling under %s',
    (root) => {
      expect(mounts.parse(`${root}/demo/srv/app`)).toEqual(place('demo', '/srv/app'))
      expect(mounts.parse(`${root}/demo`)).toEqual(place('demo', '/'))
      expect(mounts.parse(`${root}/demo/srv//app/`)).toEqual(place('demo', '/srv/app'))
      expect(mounts.parse(`${root}/demo/srv/./a/../app`)).toEqual(place('demo', '/srv/app'))
    },
  )

  it('is spelled with the root that the host itself resolves to', () => {
    expect(mounts.format(place('demo', '/srv/app'))).toBe('/data/u/.dsh/presence/mounts/demo/srv/app')
    expect(mounts.format(place('demo', '/'))).toBe('/data/u/.dsh/presence/mounts/demo')
  })

  it('C03: is of no world of ours when its machine is unknown, and says so', () => {
    expect(mounts.parse('/home/u/.dsh/presence/mounts/gone/srv')).toBeNull()
    expect(mounts.locate('/home/u/.dsh/presence/mounts/gone/srv')).toEqual({
      world: 'unknown-machine',
      machine: 'gone',
      below: true,
    })
    expect(mounts.locate('/home/u/.dsh/presence/mounts/.git')).toEqual({
      world: 'unknown-machine',
      machine: '.git',
      below: false,
    })
  })

  it('never leads to another machine through its parent', () => {
    expect(mounts.parse('/home/u/.dsh/presence/mounts/demo/../../mounts')).toBeNull()
    expect(mounts.locate('/home/u/.dsh/presence/mounts/demo/..')).toEqual({ world: 'local' })
  })
})

it.each([
  '/home/u/.dsh/presence/mounts',
  '/home/u/.dsh/presence/mounts2/demo/srv',
  '/home/u/.dsh/presence/MOUNTS/demo/srv',
  '/home/u/.dsh/presence',
  '/home/u/.dsh',
  '/',
  'mounts/demo/srv',
  'demo/srv',
  '',
])('C05: leaves %j local', (path) => {
  expect(mounts.locate(path)).toEqual({ world: 'local' })
})

describe('on Windows', () => {
  it('ignores case in the root and keeps it below', () => {
    expect(windows.parse('c:\\users\\u\\.DSH\\presence\\mounts\\demo\\srv\\App')).toEqual(
      place('demo', '/srv/App'),
    )
  })

  it('accepts the mixed separators that a browser makes', () => {
    expect(windows.parse('C:\\Users\\U\\.dsh\\presence\\mounts\\demo/srv/app')).toEqual(
      place('demo', '/srv/app'),
    )
  })

  it.each([
    ['demo', '/a:b/con/aux.txt/x./y /q?/p%3A'],
    ['demo', '/CON.log/lpt1/NUL/com¹'],
    ['demo', '/back\\slash/"quoted"/<in>|out*'],
    ['user@box:2200', '/srv'],
    ['[::1]:22', '/srv/%25/100%'],
    ['demo', `/${'long'.repeat(70)}`],
  ])('F101: holds what Windows cannot name, and gives it back: %s %s', (machine, path) => {
    const spelled = windows.format(place(machine, path))
    const below = spelled.slice('C:\\Users\\U\\.dsh\\presence\\mounts\\'.length)
    expect(below).not.toMatch(/[<>:"|?*]|[. ](\\|$)/)
    for (const name of below.split('\\')) expect(name).not.toMatch(/^(con|aux|nul|lpt1|com¹)(\.|$)/i)
    expect(windows.parse(spelled)).toEqual(place(machine, path))
  })
})

describe('mount spellings inside a text', () => {
  it('C07: become the machine’s paths', () => {
    expect(
      mounts.translateText(
        'cat /home/u/.dsh/presence/mounts/demo/srv/a.txt "/data/u/.dsh/presence/mounts/demo/b c"',
        'demo',
      ),
    ).toEqual({ text: 'cat /srv/a.txt "/b c"', strangers: [] })
    expect(
      mounts.translateText(
        'ls /data/u/.dsh/presence/mounts/demo; ls /data/u/.dsh/presence/mounts/demo/',
        'demo',
      ).text,
    ).toBe('ls /; ls /')
  })

  it('C07: of another machine are told, and left alone', () => {
    const text = 'diff /srv/a /data/u/.dsh/presence/mounts/gpu-2/srv/a'
    expect(mounts.translateText(text, 'demo')).toEqual({ text, strangers: ['gpu-2'] })
  })
})

it('knows the local folders above the mounts', () => {
  expect(mounts.isAbove('/home/u')).toBe(true)
  expect(mounts.isAbove('/')).toBe(true)
  expect(mounts.isAbove('/home/u/.dsh/presence/')).toBe(true)
  expect(mounts.isAbove('/home/u/.dsh/presence/mounts')).toBe(false)
  expect(mounts.isAbove('/home/u/.dsh/presence/mounts/demo')).toBe(false)
  expect(mounts.isAbove('/home/other')).toBe(false)
})

it('gives the same path on two machines two keys, and each key back its place', () => {
  const here = place('demo', '/srv/app')
  const there = place('user@box:2200', '/srv/app')
  expect(placeKey(here)).not.toBe(placeKey(there))
  expect(placeKey(here)).toBe('presence://demo/srv/app')
  for (const one of [here, there, place('demo', '/')]) expect(placeOfKey(placeKey(one))).toEqual(one)
})
