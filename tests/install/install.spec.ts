/** The installer with the real DSH and the packed tarball: what it does, refuses and leaves alone. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startWeb } from '../../scripts/host/web.ts'
import { program, ROOT } from '../../scripts/project/checkout.ts'
import { run } from '../../scripts/project/children.ts'
import {
  done,
  OLD_VERSION,
  OWN_PATCHES,
  startInstallRig,
  treeOf,
  type InstallHome,
  type InstallRig,
} from './rig.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000, maxConcurrency: 2 })

let rig: InstallRig

beforeAll(async () => {
  rig = await startInstallRig({ profile: 'web', withoutScript: true })
  await rig.prepare('old', 'fresh', async (home) => {
    await done(home.install(['--tarball', rig.oldTarball]))
  })
})
afterAll(() => rig.remove())

const own = (home: InstallHome): string => readFileSync(home.patchFile, 'utf8')

const bundles = (home: InstallHome): unknown => {
  const manifest = JSON.parse(readFileSync(join(home.profileFolder, 'package.json'), 'utf8')) as {
    dsh: { profile: { bundles: string[] } }
  }
  return manifest.dsh.profile.bundles
}

/** It refuses with these words, and nothing in the profile has changed. */
async function expectRefusal(
  home: InstallHome,
  words: readonly string[],
  ...call: Parameters<InstallHome['install']>
): Promise<void> {
  const before = home.tree()
  const { code, stdout, stderr } = await home.install(...call)
  expect(code, `${stdout}${stderr}`).not.toBe(0)
  for (const text of words) expect(stderr).toContain(text)
  expect(home.tree()).toEqual(before)
}

/** As bootstrap.mjs sees it. */
function isInstalled(): boolean {
  const [lock, stamp, record] = [
    'pnpm-lock.yaml',
    'node_modules/.presence-installed',
    'node_modules/.modules.yaml',
  ].map((file) => join(ROOT, file)) as [string, string, string]
  const digest = createHash('sha256').update(readFileSync(lock)).digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return true
  return existsSync(record) && statSync(record).mtimeMs >= statSync(lock).mtimeMs
}

describe('installing', () => {
  it('puts the newest tarball beside the program in, without any registry, and the host serves it', async () => {
    const home = await rig.home('fresh')
    const { stdout } = await done(home.install(['-Verify', 'boot']))
    expect(stdout).toContain(`Presence ${rig.version} (mode fs) is in the profile "web"`)
    const { presence, rows } = await home.composition()
    expect(presence).toBe('fs')
    expect(rows).not.toContain('file-reference-local')
    expect(rows).toContain('other')
    expect(own(home)).toBe(OWN_PATCHES)
    // Looking whether it boots has left nothing in the user's own home.
    expect(existsSync(join(home.folder, 'presence'))).toBe(false)
    expect(existsSync(join(home.folder, 'sessions'))).toBe(false)
  })

  it('in mode tools adds one row and touches no service; each mode undoes the other, and uninstalling both', async () => {
    const home = await rig.home('fresh')
    const manifest = readFileSync(join(home.profileFolder, 'package.json'), 'utf8')
    await done(home.install(['-Mode', 'tools']))
    const tools = await home.composition()
    expect(tools.presence).toBe('tools')
    expect(tools.rows).toEqual(
      expect.arrayContaining(['fs-sandbox', 'file-reference-local', 'presence', 'other']),
    )
    expect(own(home)).toBe(OWN_PATCHES)
    // Without a word about the mode, an upgrade keeps it.
    await done(home.install())
    expect((await home.composition()).presence).toBe('tools')
    await done(home.install(['--mode=fs']))
    expect((await home.composition()).presence).toBe('fs')
    await done(home.install(['-Uninstall']))
    const none = await home.composition()
    expect(none.presence).toBe('none')
    expect(none.rows).toEqual(expect.arrayContaining(['fs-sandbox', 'file-reference-local', 'other']))
    expect(own(home)).toBe(OWN_PATCHES)
    expect(readFileSync(join(home.profileFolder, 'package.json'), 'utf8')).toBe(manifest)
    expect(existsSync(join(home.profileFolder, '.presence'))).toBe(false)
    expect(home.installedVersion()).toBeUndefined()
  })

  it('lets DSH make a profile that it would make itself', async () => {
    const home = await rig.home('fresh')
    rmSync(home.profileFolder, { recursive: true })
    await done(home.install())
    expect((await home.composition()).presence).toBe('fs')
  })

  it('from a checkout packs it first', async () => {
    // Packing would install dependencies that are older than the lock file: not in the middle of tests.
    expect(isInstalled(), 'the dependencies are older than the lock file').toBe(true)
    const home = await rig.home('fresh')
    const script = join(ROOT, 'install-presence.sh')
    const { stdout } = await done(run(['sh', script, '--dsh-home', home.folder], { env: home.env }))
    expect(stdout).toMatch(/Presence \S+-dev\.\S+ \(mode fs\)/)
    expect((await home.composition()).presence).toBe('fs')
  })
})

describe('upgrading', () => {
  it('C22: replaces the older version where it stood among the bundles, and keeps one tarball', async () => {
    const home = await rig.home('old')
    const before = bundles(home)
    const { stdout } = await done(home.install())
    expect(stdout).toContain(`It takes the place of ${OLD_VERSION} (mode fs).`)
    expect(home.installedVersion()).toBe(rig.version)
    expect(bundles(home)).toEqual(before)
    const kept = Object.keys(home.tree()).filter((path) => path.startsWith('.presence/'))
    expect(kept).toEqual([expect.stringContaining(rig.version)])
    expect(own(home)).toBe(OWN_PATCHES)
  })

  it('replaces one that was added by hand from a tarball that is gone', async () => {
    const home = await rig.home('fresh')
    const tarball = join(rig.folder, 'by-hand.tgz')
    await done(run(['cp', rig.oldTarball, tarball]))
    await home.addPlugin('web', tarball)
    rmSync(tarball)
    await done(home.install())
    expect(home.installedVersion()).toBe(rig.version)
    expect((await home.composition()).presence).toBe('fs')
  })

  it('repairs a package of which files are missing', async () => {
    const home = await rig.home('fresh')
    await done(home.install())
    const whole = home.tree()
    rmSync(join(home.profileFolder, 'node_modules/dsh-presence/lib'), { recursive: true })
    await done(home.install())
    expect(Object.keys(home.tree())).toEqual(Object.keys(whole))
  })

  it('names a link to a folder, with which DSH does not start, and takes its place', async () => {
    const home = await rig.home('fresh')
    const linked = join(rig.folder, 'linked')
    mkdirSync(linked)
    await done(run(['tar', '-xzf', rig.oldTarball, '-C', linked]))
    await home.addPlugin('web', join(linked, 'package'))
    const { stdout } = await done(home.install())
    expect(stdout).toContain('as a link to a folder')
    expect(home.installedVersion()).toBe(rig.version)
    expect(existsSync(join(linked, 'package/package.json'))).toBe(true)
    expect((await home.composition()).presence).toBe('fs')
  })
})

describe('uninstalling', () => {
  it('leaves machines and workspaces alone, and says where they are', async () => {
    const home = await rig.home('old')
    mkdirSync(join(home.folder, 'presence/mounts/box/srv'), { recursive: true })
    writeFileSync(join(home.folder, 'presence/machines.yml'), 'box: { host: 192.0.2.1 }\n')
    const data = treeOf(join(home.folder, 'presence'))
    const { stdout } = await done(home.install(['--uninstall']))
    expect(stdout).toContain(`Your machines and workspaces stay in ${join(home.folder, 'presence')}`)
    expect(treeOf(join(home.folder, 'presence'))).toEqual(data)
  })

  it('removes them when told to, but nothing that somebody put into a marker', async () => {
    const home = await rig.home('old')
    mkdirSync(join(home.folder, 'presence/mounts/box/srv'), { recursive: true })
    mkdirSync(join(home.folder, 'presence/mounts/box/used'))
    writeFileSync(join(home.folder, 'presence/mounts/box/used/mine.txt'), 'mine\n')
    writeFileSync(join(home.folder, 'presence/machines.yml'), '')
    await done(home.install(['-Uninstall', '-RemoveData']))
    expect(Object.keys(treeOf(join(home.folder, 'presence')))).toEqual([
      'mounts',
      'mounts/box',
      'mounts/box/used',
      'mounts/box/used/mine.txt',
    ])
  })

  it('keeps them while another profile uses Presence', async () => {
    const home = await rig.home('old')
    await done(run(['cp', '-a', home.profileFolder, join(home.folder, 'profiles', 'second')]))
    await expectRefusal(home, ['The profile "second" uses Presence too'], ['--uninstall', '--remove-data'])
  })

  it('is no error where nothing is installed', async () => {
    const home = await rig.home('fresh')
    const before = home.tree()
    const { stdout } = await done(home.install(['--uninstall']))
    expect(stdout).toContain('Presence is not in the profile "web"')
    expect(home.tree()).toEqual(before)
  })

  it('takes Presence out of a profile that something else keeps from starting, and says what', async () => {
    const home = await rig.home('old')
    writeFileSync(home.patchFile, 'no: list\n')
    const { stdout } = await done(home.install(['--uninstall']))
    expect(stdout).toContain('must be a top-level YAML array')
    expect(bundles(home)).not.toContain('dsh-presence')
    expect(home.installedVersion()).toBeUndefined()
  })
})

describe('what-if', () => {
  it.concurrent.each([
    ['an installation', 'fresh', [], 'switch-on'],
    ['an upgrade to the mode tools', 'old', ['-Mode', 'tools'], 'switch-off'],
    ['an uninstallation', 'old', ['-Uninstall'], 'remove'],
  ] as const)(
    'tells the steps of %s and changes nothing in the whole home',
    async (_what, from, args, step) => {
      const home = await rig.home(from)
      const before = treeOf(home.folder)
      const { stdout } = await done(home.install([...args, '-WhatIf']))
      expect(stdout).toContain(`. ${step}: `)
      expect(stdout).toContain('Nothing was changed.')
      expect(treeOf(home.folder)).toEqual(before)
    },
  )

  it('tells what an interrupted run left, and changes nothing', async () => {
    const home = await rig.home('old')
    await home.install([], { killAt: 'after:aside' })
    const before = treeOf(home.folder)
    const { stdout } = await done(home.install(['--what-if']))
    expect(stdout).toContain('interrupted at "aside"')
    expect(treeOf(home.folder)).toEqual(before)
  })
})

describe('refusing before anything is changed', () => {
  it('a tarball that is damaged, cut off, or another package’s', async () => {
    const home = await rig.home('old')
    const bytes = readFileSync(rig.tarball)
    const damaged = join(rig.folder, 'damaged.tgz')
    writeFileSync(damaged, bytes.subarray(0, bytes.length / 2))
    await expectRefusal(home, [`${damaged} is not a whole tarball of dsh-presence`], ['--tarball', damaged])
    const turned = Buffer.from(bytes)
    const middle = Math.floor(bytes.length / 2)
    turned.writeUInt8(turned.readUInt8(middle) ^ 0xff, middle)
    writeFileSync(damaged, turned)
    await expectRefusal(home, ['is not a whole tarball'], ['--tarball', damaged])
    const other = join(rig.folder, 'other-plugin-1.0.0.tgz')
    await expectRefusal(home, ['it holds "other-plugin"'], ['--tarball', other])
    await expectRefusal(home, ['There is no'], ['--tarball', join(rig.folder, 'none.tgz')])
  })

  it('a profile or a home that is not there, with those that are', async () => {
    const home = await rig.home('fresh')
    await expectRefusal(home, ['has no profile "wbe". It has: web.'], ['--profile', 'wbe'])
    expect(existsSync(join(home.folder, 'profiles/wbe'))).toBe(false)
    await expectRefusal(home, ['check --dsh-home'], ['--dsh-home', `${home.folder}-not`])
  })

  it('a profile that this account may not change', async () => {
    const home = await rig.home('fresh')
    const other = ['setpriv', '--reuid', 'tester', '--regid', 'tester', '--clear-groups']
    await expectRefusal(home, ['may not be changed by this account'], [], { before: other })
  })

  it('when pnpm is not on PATH, with how to get it', async () => {
    const home = await rig.home('fresh')
    const only = join(rig.folder, 'only-node')
    mkdirSync(only)
    symlinkSync(process.execPath, join(only, 'node'))
    for (const name of ['sh', 'dirname']) symlinkSync(`/usr/bin/${name}`, join(only, name))
    const variables = { PATH: only }
    await expectRefusal(home, ['pnpm is not on PATH', 'npm install --global pnpm'], [], { variables })
    // DSH is found all the same, by what it leaves in its home.
    const pnpm = program('pnpm').map((word) => `'${word}'`)
    writeFileSync(join(only, 'pnpm'), `#!/bin/sh\nexec ${pnpm.join(' ')} "$@"\n`, { mode: 0o755 })
    await done(home.install([], { variables }))
    expect((await home.composition()).presence).toBe('fs')
  })

  it('while DSH runs with this profile, and says why; --force goes on', async () => {
    const home = await rig.home('fresh')
    const elsewhere = await rig.home('fresh')
    const web = await startWeb(home)
    try {
      await expectRefusal(home, [
        'DSH is running in the profile "web"',
        'process ',
        'until it is started anew',
      ])
      await expectRefusal(home, ['DSH is running'], ['--uninstall'])
      // A host with another home is nobody's business here.
      await done(elsewhere.install())
      const { stdout } = await done(home.install(['-Force']))
      expect(stdout).toContain('Restart it afterwards')
    } finally {
      await web.stop()
    }
    await done(home.install(['--uninstall']))
    expect((await home.composition()).presence).toBe('none')
  })

  it('words it does not know, with the usage', async () => {
    const home = await rig.home('fresh')
    await expectRefusal(home, ['"-Everything" is not understood', '--what-if'], ['-Everything'])
    await expectRefusal(home, ['--mode is one of: fs, tools; not "both"'], ['-Mode', 'both'])
  })
})

describe('a composition that is not as it should be', () => {
  it('C22: is undone byte for byte when the user’s own patches keep a replaced row on', async () => {
    const home = await rig.home('fresh')
    writeFileSync(home.patchFile, '- { id: fs-sandbox, disabled: false }\n')
    await expectRefusal(home, ['the row "fs-sandbox" is still switched on', home.patchFile])
  })

  it('is undone to the older version when a row of ours is switched off', async () => {
    const home = await rig.home('old')
    writeFileSync(home.patchFile, '- { id: presence-fs, disabled: true }\n')
    await expectRefusal(home, [`the row "presence-fs" is switched off by ${home.patchFile}`])
    expect(home.installedVersion()).toBe(OLD_VERSION)
  })

  it('is undone when the host does not start with it', async () => {
    const home = await rig.home('fresh')
    const bad = join(rig.folder, 'bad.mjs')
    writeFileSync(bad, 'export function apply() { throw new Error("this row is broken") }\n')
    writeFileSync(home.patchFile, `- insert: [{ id: bad, name: "file://${bad}" }]\n`)
    await expectRefusal(home, ['this row is broken'], ['--verify', 'boot'])
  })

  it('leaves Presence out when what was there before is not whole any more', async () => {
    const home = await rig.home('old')
    rmSync(join(home.profileFolder, 'node_modules/dsh-presence/node_modules/ssh2'), { recursive: true })
    writeFileSync(home.patchFile, '- { id: presence-fs, disabled: true }\n')
    const { code, stdout } = await home.install()
    expect(code).toBe(1)
    expect(stdout).toContain('the profile is without Presence')
    writeFileSync(home.patchFile, OWN_PATCHES)
    expect((await home.composition()).presence).toBe('none')
  })

  it('is told when own settings of a replaced row reach nobody, or a row is unknown', async () => {
    const home = await rig.home('fresh')
    const patches = '- { id: subprocess, config: {} }\n- { id: no-such-row, disabled: true }\n'
    writeFileSync(home.patchFile, patches)
    const { stdout } = await done(home.install())
    expect(stdout).toContain('change the row "subprocess", which Presence replaces')
    expect(stdout).toContain('"no-such-row" not found')
    expect(own(home)).toBe(patches)
  })
})

describe('the scripts', () => {
  it('are executable, and end with the program’s exit code', async () => {
    for (const name of ['install-presence.sh', 'install-presence.ps1']) {
      expect(statSync(join(rig.shipped, name)).mode & 0o111).not.toBe(0)
    }
    const usage = await run([join(rig.shipped, 'install-presence.sh'), '--nothing'])
    expect(usage.code).toBe(2)
    const help = await done(run([join(rig.shipped, 'install-presence.sh'), '-Help']))
    expect(help.stdout).toContain('--uninstall')
  })
})
