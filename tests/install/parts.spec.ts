/** The parts of the installer that decide by looking at text or bytes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { inMode, newestIn, readBundle, storedName } from '../../scripts/install/bundle.ts'
import { judgeInstalled, parseComposition } from '../../scripts/install/composition.ts'
import { isWhole } from '../../scripts/install/installed.ts'
import { parseManifest, switchedOff, switchedOn } from '../../scripts/install/manifest.ts'
import { homeFolder, parseOptions } from '../../scripts/install/options.ts'
import { profileAt } from '../../scripts/install/profile.ts'
import { launcherCall } from '../../scripts/install/running.ts'
import { filesOf, TarError, withContent } from '../../scripts/install/tar.ts'
import { run } from '../../scripts/project/children.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'presence-parts-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('options', () => {
  it('mean the same in both spellings', () => {
    const posix = ['--mode', 'tools', '--profile=headless', '--dsh-home', '/h', '--what-if', '--uninstall']
    const windows = ['-Mode:', 'tools', '-Profile', 'headless', '-DshHome', '/h', '-WhatIf', '-Uninstall']
    const options = parseOptions(posix, {})
    expect(parseOptions(windows, {})).toEqual(options)
    expect(options).toMatchObject({ mode: 'tools', profile: 'headless', dshHome: '/h', whatIf: true })
  })

  it('find the home as the host does', () => {
    expect(homeFolder(undefined, {})).toBe(join(homedir(), '.dsh'))
    expect(homeFolder(undefined, { DSH_HOME: '~/other' })).toBe(join(homedir(), 'other'))
    expect(homeFolder('/named', { DSH_HOME: '/env' })).toBe('/named')
  })

  it.each([['--profile', '../up'], ['--profile', 'node_modules'], ['--mode'], ['stray'], ['--remove-data']])(
    'refuse %j',
    (...argv) => expect(() => parseOptions(argv, {})).toThrow(/--what-if/),
  )
})

describe('package.json of a profile', () => {
  const text = `{
    "name": "p",
    "dependencies": {
        "a": "1",
        "dsh-presence": "file:x.tgz"
    },
    "dsh": {
        "profile": {
            "bundles": [
                "base",
                "dsh-presence",
                "later"
            ]
        }
    }
}`

  it('keeps its style, and Presence its place', () => {
    const manifest = parseManifest(text, 'package.json')
    const off = switchedOff(manifest, { dependency: true })
    expect(off).toBe(text.replace('                "dsh-presence",\n', ''))
    const before = ['base', 'dsh-presence', 'later']
    expect(switchedOn(parseManifest(off, 'package.json'), before)).toBe(text)
    expect(switchedOn(manifest, before)).toBe(text)
    expect(JSON.parse(switchedOff(manifest, { dependency: false }))).toEqual({
      name: 'p',
      dependencies: { a: '1' },
      dsh: { profile: { bundles: ['base', 'later'] } },
    })
  })

  it('that is no JSON object is named', () => {
    expect(() => parseManifest('[]', '/p/package.json')).toThrow('/p/package.json cannot be read')
    expect(() => parseManifest('{', '/p/package.json')).toThrow('/p/package.json cannot be read')
  })
})

describe('tar archives', () => {
  it('are read and changed so that tar itself agrees, long names included', async () => {
    const long = `${'deep/'.repeat(40)}file.txt`
    mkdirSync(join(folder, 'package', 'deep/'.repeat(40)), { recursive: true })
    writeFileSync(join(folder, 'package', long), 'far down\n')
    writeFileSync(join(folder, 'package/package.json'), '{}')
    for (const format of ['pax', 'gnu', 'ustar']) {
      const archive = join(folder, `${format}.tar`)
      const names = format === 'ustar' ? ['package/package.json'] : ['package']
      await run(['tar', `--format=${format}`, '-cf', archive, '-C', folder, ...names])
      const bytes = await read(archive)
      if (format !== 'ustar') expect(contents(bytes)[`package/${long}`]).toBe('far down\n')
      const content = 'a longer text\n'.repeat(100)
      const changed = withContent(bytes, 'package/package.json', Buffer.from(content))
      expect(contents(changed)).toEqual({ ...contents(bytes), 'package/package.json': content })
      writeFileSync(archive, changed)
      const seen = await run(['tar', '-xOf', archive, 'package/package.json'])
      expect(seen).toMatchObject({ code: 0, stdout: content, stderr: '' })
    }
  })

  it('that are damaged or cut off are told from whole ones', async () => {
    writeFileSync(join(folder, 'a.txt'), 'text\n')
    await run(['tar', '-cf', join(folder, 'a.tar'), '-C', folder, 'a.txt'])
    const bytes = await read(join(folder, 'a.tar'))
    expect(() => filesOf(bytes.subarray(0, 512))).toThrow(TarError)
    expect(() => filesOf(bytes.subarray(0, 1024))).toThrow('it has no end')
    const damaged = Buffer.from(bytes)
    damaged.write('b.txt', 0)
    expect(() => filesOf(damaged)).toThrow('the header at byte 0 is damaged')
  })

  const read = async (file: string): Promise<Buffer> => (await import('node:fs/promises')).readFile(file)
  const contents = (bytes: Buffer): Record<string, string> =>
    Object.fromEntries(filesOf(bytes).map((file) => [file.path, file.content.toString()]))
})

describe('the bundle', () => {
  it('is another tarball in each mode, and the same one for the same mode', async () => {
    const bundle = await readBundle(inject('tarball'))
    const [fs, tools] = [inMode(bundle, 'fs'), inMode(bundle, 'tools')]
    expect(storedName(fs, 'fs')).not.toBe(storedName(tools, 'tools'))
    expect(storedName(inMode(bundle, 'fs'), 'fs')).toBe(storedName(fs, 'fs'))
    const patch = (files: ReadonlyMap<string, Buffer>): unknown =>
      JSON.parse(files.get('package.json')?.toString() ?? '').dsh.bundle.patch
    expect([patch(fs.files), patch(tools.files)]).toEqual(['./cordis.patch.yml', './cordis.tools.patch.yml'])
  })

  it('that is newest is chosen by its version, a release before what led to it', async () => {
    const names = ['0.2.0-dev.20260101T0Z', '0.10.0-dev.2', '0.10.0-dev.10', '0.9.0']
    for (const name of names) writeFileSync(join(folder, `dsh-presence-${name}.tgz`), '')
    expect(await newestIn(folder)).toBe(join(folder, 'dsh-presence-0.10.0-dev.10.tgz'))
    writeFileSync(join(folder, 'dsh-presence-0.10.0.tgz'), '')
    expect(await newestIn(folder)).toBe(join(folder, 'dsh-presence-0.10.0.tgz'))
    mkdirSync(join(folder, 'empty'))
    expect(await newestIn(join(folder, 'empty'))).toBeUndefined()
    await expect(newestIn(join(folder, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('an installed package', () => {
  it('is whole when everything it depends on can be found from it', async () => {
    const make = (path: string, dependencies: Record<string, string> = {}): void => {
      mkdirSync(join(folder, path), { recursive: true })
      writeFileSync(join(folder, path, 'package.json'), JSON.stringify({ dependencies }))
    }
    make('node_modules/ours', { near: '1' })
    make('node_modules/ours/node_modules/near', { far: '1' })
    expect(await isWhole(join(folder, 'node_modules/ours'), folder)).toBe(false)
    make('node_modules/far')
    expect(await isWhole(join(folder, 'node_modules/ours'), folder)).toBe(true)
  })
})

describe('the words a process was started with', () => {
  it.each([
    ['node /opt/x/node_modules/@deepseek-ai/dsh/lib/bin.js web --port 0', 'web', 'host'],
    ['/usr/bin/node --enable-source-maps /usr/local/bin/dsh --profile headless do it', 'headless', 'host'],
    ['/bin/sh /home/me/bin/dsh --patch a.yml --profile=mine', 'mine', 'host'],
    ['C:\\node\\node.exe C:\\npm\\node_modules\\@deepseek-ai\\dsh\\lib\\bin.js web', 'web', 'host'],
    ['dsh plugin --profile web add x', 'web', 'plugin'],
  ])('%s runs the profile %s (%s)', (command, profile, kind) => {
    expect(launcherCall(command.split(' '))).toEqual({ profile, kind })
  })

  it.each([
    'node /opt/node_modules/@deepseek-ai/dsh/lib/bin.js --profile web --dump-config',
    'dsh --version',
    'vim /usr/local/bin/dsh web',
    'node install-presence.mjs --profile web',
    'ls dshx --profile web',
  ])('%s runs none', (command) => expect(launcherCall(command.split(' '))).toBeUndefined())
})

describe('the composition', () => {
  const profile = profileAt('/home/me/.dsh', 'web')
  const dump = (rows: Readonly<Record<string, boolean>>): string =>
    Object.entries(rows)
      .map(
        ([id, on]) =>
          `# == base, patched by dsh-presence\n- id: ${id}\n  name: x\n${on ? '' : '  disabled: true\n'}`,
      )
      .join('')
  const ours = { 'presence-fs': true, 'presence-subprocess': true, 'presence-sandbox': true, presence: true }
  const whole = {
    'fs-sandbox': false,
    subprocess: false,
    sandbox: false,
    ...ours,
    'presence-file-reference': true,
  }

  it('is right with every replaced row off and every row of ours on', () => {
    expect(judgeInstalled(parseComposition(dump(whole), ''), 'fs', profile)).toEqual([])
  })

  it('of a host without a row that is to be replaced is refused: such a host is unknown', () => {
    const unknown = Object.entries(whole).filter(([id]) => id !== 'sandbox')
    const composition = parseComposition(dump(Object.fromEntries(unknown)), '')
    expect(() => judgeInstalled(composition, 'fs', profile)).toThrow('this DSH has no row "sandbox"')
  })

  it('of the mode tools has none of the rows of the mode fs', () => {
    const tools = { 'fs-sandbox': true, subprocess: true, sandbox: true, presence: true }
    expect(judgeInstalled(parseComposition(dump(tools), ''), 'tools', profile)).toEqual([])
    const mixed = parseComposition(dump({ ...tools, 'presence-fs': true }), '')
    expect(() => judgeInstalled(mixed, 'tools', profile)).toThrow('belongs to the mode fs')
  })
})
