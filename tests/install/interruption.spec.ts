/**
 * The installer ends suddenly at every step: it is killed, or what stands on the disk at that moment is copied. Each time DSH must compose the profile, wholly with Presence or
 * wholly without it, somebody else's plugin must still be in it, and the next run must lead to exactly
 * what was there before or to what was wanted.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { headlessTurn } from '../../scripts/host/headless.ts'
import { program } from '../../scripts/project/checkout.ts'
import { startModel, type ScriptedModel } from '../../scripts/model/server.ts'
import { call, stepOf } from '../support/host.ts'
import {
  done,
  OWN_PATCHES,
  startInstallRig,
  type Composition,
  type InstallHome,
  type InstallRig,
} from './rig.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000, maxConcurrency: 2 })

/** What the model asks for in every turn. */
const LOCAL_WORK = [
  call('write', { file_path: 'note.txt', content: 'kept\n' }),
  call('bash', { command: 'cat note.txt; pwd', description: 'look' }),
  { text: 'done' },
]

let rig: InstallRig
let model: ScriptedModel

beforeAll(async () => {
  model = await startModel(LOCAL_WORK)
  rig = await startInstallRig({ profile: 'headless', modelUrl: model.url, withoutScript: true })
  await rig.prepare('old', 'fresh', async (home) => {
    await done(home.install(['--tarball', rig.oldTarball]))
  })
})
afterAll(async () => {
  await model.stop()
  rig.remove()
})

interface Change {
  readonly what: string
  /** The prepared home it starts from. */
  readonly from: 'fresh' | 'old'
  readonly args: readonly string[]
  /**
   * Points at which an end is undone, in the order of the steps. Of two between which nothing is written
   * there is only one: `after` the last step is `before` the end.
   */
  readonly undone: readonly string[]
  /** Points at which an end is finished. */
  readonly finished: readonly string[]
  /** Of the points above, those at which the next run is another change. */
  readonly next: Readonly<Record<string, readonly string[]>>
  readonly wanted: () => string | undefined
}

const CHANGES: readonly Change[] = [
  {
    what: 'an installation',
    from: 'fresh',
    args: [],
    undone: [
      'before:begin',
      'after:begin',
      'after:backup',
      'before:store',
      'after:store',
      'before:unpack',
      'after:unpack',
      'after:check',
      'after:switch-on',
      'after:verify',
    ],
    finished: ['before:commit', 'after:tidy', 'after:end'],
    next: { 'after:check': [], 'after:verify': ['--uninstall'] },
    wanted: () => rig.version,
  },
  {
    what: 'an upgrade',
    from: 'old',
    args: ['--mode', 'fs'],
    undone: [
      'after:begin',
      'after:backup',
      'after:store',
      'after:switch-off',
      'before:aside',
      'after:aside',
      'after:unpack',
      'before:switch-on',
      'after:switch-on',
    ],
    finished: ['before:commit', 'after:tidy'],
    next: { 'before:aside': ['--mode', 'tools'], 'before:switch-on': ['--uninstall'] },
    wanted: () => rig.version,
  },
  {
    what: 'an uninstallation',
    from: 'old',
    args: ['--uninstall'],
    undone: [
      'after:begin',
      'after:backup',
      'before:switch-off',
      'after:switch-off',
      'before:aside',
      'after:aside',
      'after:remove',
      'after:manifest',
      'after:verify',
    ],
    finished: ['before:commit', 'after:tidy'],
    next: { 'before:aside': ['--uninstall'], 'after:verify': [] },
    wanted: () => undefined,
  },
]

/** Points at which a host is really booted and a local session works in it. */
const BOOTED = new Set([
  'an installation after:unpack',
  'an installation after:switch-on',
  'an installation before:commit',
  'an upgrade after:aside',
  'an upgrade after:unpack',
  'an uninstallation after:switch-off',
  'an uninstallation after:remove',
])

/** Points of undoing, which may be cut off as well. */
const UNDO_POINTS = [
  'before:undo-switch-off',
  'after:undo-switch-off',
  'after:undo-package',
  'after:undo-files',
  'after:undo-manifest',
  'after:undo-store',
  'after:tidy',
  'after:end',
]

async function killedAt(home: InstallHome, point: string, args: readonly string[]): Promise<void> {
  const outcome = await home.install(args, { killAt: point })
  expect(outcome.signal, `${point}: ${outcome.stdout}${outcome.stderr}`).toBe('SIGKILL')
}

/** What DSH made of a profile, by all that it read there: it need not be asked twice about the same. */
const compositions = new Map<string, Promise<Composition>>()

/** DSH composes it, wholly with or without Presence, and what is not ours is all there. */
async function soundComposition(home: InstallHome): Promise<Composition> {
  const profile = JSON.stringify(home.forDsh())
  const composing = compositions.get(profile) ?? home.composition()
  compositions.set(profile, composing)
  const composition = await composing
  expect(composition.rows).toContain('other')
  expect(readFileSync(home.patchFile, 'utf8')).toBe(OWN_PATCHES)
  return composition
}

async function expectWanted(
  home: InstallHome,
  version: string | undefined,
  mode: 'fs' | 'tools' = 'fs',
): Promise<void> {
  const { presence } = await soundComposition(home)
  expect(presence).toBe(version === undefined ? 'none' : mode)
  expect(home.installedVersion()).toBe(version)
  const left = Object.keys(home.tree()).filter((path) => path.startsWith('.presence/'))
  expect(left).toEqual(version === undefined ? [] : [expect.stringContaining(`presence-${version}-${mode}-`)])
}

/** As `compositions`, of the hosts that were booted. */
const boots = new Map<string, Promise<void>>()

async function expectLocalWork(home: InstallHome, prompt: string): Promise<void> {
  const profile = JSON.stringify(home.forDsh())
  const booting = boots.get(profile) ?? localWork(home, prompt)
  boots.set(profile, booting)
  await booting
}

/** One turn of the real host in a local folder. */
async function localWork(home: InstallHome, prompt: string): Promise<void> {
  const project = mkdtempSync(join(rig.folder, 'project-'))
  const turn = await headlessTurn(home, { cwd: project, prompt })
  if (turn.session === undefined) throw new Error(`${turn.stdout}${turn.stderr}`)
  expect(stepOf(turn.session, 'bash').text).toBe(`kept\n${project}\n`)
  expect(readFileSync(join(project, 'note.txt'), 'utf8')).toBe('kept\n')
}

for (const change of CHANGES) {
  const finished = change.finished
  const restored = change.undone.filter((point) => change.next[point] === undefined)
  const isKilled = (point: string): boolean => BOOTED.has(`${change.what} ${point}`)

  describe(`${change.what} that ends suddenly`, () => {
    let taken: Readonly<Record<string, string>> = {}
    beforeAll(async () => {
      const points = [...restored, ...finished].filter((point) => !isKilled(point))
      taken = await rig.snapshots(change.from, points, change.args)
      expect(Object.keys(taken).toSorted()).toEqual(points.toSorted())
    })

    /** As it is left: the installer is really killed where a host is booted afterwards; elsewhere it only waited there. */
    const leftAt = async (point: string): Promise<InstallHome> => {
      if (!isKilled(point)) {
        const home = await rig.home(taken[point] ?? '')
        await soundComposition(home)
        return home
      }
      const home = await rig.home(change.from)
      await killedAt(home, point, change.args)
      await expectLocalWork(home, point)
      return home
    }

    it.concurrent.each(restored)(
      '%s: the profile holds together, and is put back byte for byte',
      async (point) => {
        const home = await leftAt(point)
        await done(home.install(['--recover']))
        expect(home.tree()).toEqual(rig.treeOf(change.from))
      },
    )

    it.concurrent.each(finished)(
      '%s: the profile holds together, and the change is finished',
      async (point) => {
        const home = await leftAt(point)
        await done(home.install(['--recover']))
        await expectWanted(home, change.wanted())
      },
    )

    it.concurrent.each(Object.entries(change.next))(
      '%s, and then %j is run: it clears up first and does its own work',
      async (point, next) => {
        const home = await rig.home(change.from)
        await killedAt(home, point, change.args)
        await soundComposition(home)
        const { stderr } = await done(home.install(next))
        expect(stderr).toContain('was interrupted at')
        if (next.includes('--uninstall')) await expectWanted(home, undefined)
        else await expectWanted(home, rig.version, next.includes('tools') ? 'tools' : 'fs')
      },
    )
  })
}

describe('undoing that ends suddenly as well', () => {
  let taken: Readonly<Record<string, string>> = {}
  beforeAll(async () => {
    await rig.prepare('killed', 'old', (home) => killedAt(home, 'after:switch-on', ['--mode', 'fs']))
    taken = await rig.snapshots('killed', UNDO_POINTS, ['--recover'])
    expect(Object.keys(taken).toSorted()).toEqual(UNDO_POINTS.toSorted())
  })

  it.concurrent.each(UNDO_POINTS)(
    '%s: the profile holds together, and is put back byte for byte',
    async (point) => {
      const home = await rig.home(taken[point] ?? '')
      await soundComposition(home)
      await done(home.install(['--recover']))
      expect(home.tree()).toEqual(rig.treeOf('old'))
    },
  )
})

describe('a package manager in the middle of its work', () => {
  /** A `pnpm` that does something to the installer or to itself, and is the real one otherwise. */
  const pnpmThat = (home: InstallHome, script: string): { PATH: string } => {
    const folder = mkdtempSync(join(rig.folder, 'pnpm-'))
    const real = program('pnpm')
      .map((word) => `'${word}'`)
      .join(' ')
    writeFileSync(join(folder, 'pnpm'), `#!/bin/sh\n${script.replaceAll('REAL', `${real} "$@"`)}\n`)
    chmodSync(join(folder, 'pnpm'), 0o755)
    return { PATH: `${folder}:${home.env['PATH'] ?? ''}` }
  }

  it('goes on alone when the installer is killed: the next run waits for it and then puts all back', async () => {
    const home = await rig.home('old')
    const variables = pnpmThat(home, 'kill -9 $PPID; sleep 1; exec REAL')
    const outcome = await home.install(['--mode', 'fs'], { variables })
    expect(outcome.signal).toBe('SIGKILL')
    await soundComposition(home)
    await done(home.install(['--recover']))
    expect(home.tree()).toEqual(rig.treeOf('old'))
  })

  it('is killed with its work half done: that is undone at once', async () => {
    const home = await rig.home('old')
    const half =
      'mkdir -p node_modules/dsh-presence_tmp_1_1/lib; REAL & while [ ! -d node_modules/dsh-presence ]; do sleep 0.01; done; kill -9 $!; kill -9 $$'
    const outcome = await home.install(['--mode', 'fs'], { variables: pnpmThat(home, half) })
    expect(outcome.code).toBe(1)
    expect(outcome.stderr).toContain('"pnpm add')
    expect(home.tree()).toEqual(rig.treeOf('old'))
  })

  it('is left in peace: a second run of the installer refuses meanwhile', async () => {
    const home = await rig.home('old')
    const go = join(home.folder, 'go')
    const waiting = `touch started; while [ ! -e '${go}' ]; do sleep 0.05; done; exec REAL`
    const first = home.install(['--mode', 'fs'], { variables: pnpmThat(home, waiting) })
    await vi.waitUntil(() => existsSync(join(home.profileFolder, 'started')), { timeout: 60_000 })
    const second = await home.install(['--uninstall'])
    writeFileSync(go, '')
    expect(second.code).toBe(1)
    expect(second.stderr).toContain('Another run of the installer is at work here')
    await done(first)
    await expectWanted(home, rig.version)
  })

  it('and a Ctrl-C: both end, and what was begun is undone', async () => {
    const home = await rig.home('old')
    const outcome = await home.install(['--mode', 'fs'], {
      variables: pnpmThat(home, 'kill -INT $PPID; sleep 60'),
    })
    expect(outcome.code).toBe(130)
    expect(home.tree()).toEqual(rig.treeOf('old'))
  })
})

describe('a journal', () => {
  const withJournal = async (text: string): Promise<InstallHome> => {
    const home = await rig.home('old')
    writeFileSync(join(home.profileFolder, '.presence/journal.json'), text)
    return home
  }

  it('that was never written to means that nothing was changed', async () => {
    const home = await withJournal('')
    await done(home.install(['--recover']))
    expect(home.tree()).toEqual(rig.treeOf('old'))
  })

  it('of another version of the installer is not guessed at', async () => {
    const home = await withJournal('{ "format": 2 }\n')
    const before = home.tree()
    const { code, stderr } = await home.install()
    expect(code).toBe(1)
    expect(stderr).toContain('was written by another version of the installer')
    expect(home.tree()).toEqual(before)
  })
})

afterAll(() => {
  const points = CHANGES.flatMap((change) => [...change.undone, ...change.finished])
  console.log(`the installer ended at ${points.length + UNDO_POINTS.length} points`)
})
