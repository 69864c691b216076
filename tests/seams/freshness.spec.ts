/** What `ctx.fs` tells is so now, whoever changed it; and watches tell of changes, and of nothing once they end. */
import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import { startFakeServer, type FakeServer } from '../support/fake-server.ts'
import { startProvider, startSeams, type Provider, type SeamRig } from '../support/seams.ts'

describe('C54: what was looked at a moment ago', () => {
  let rig: SeamRig
  let there = ''
  let mount = ''
  let count = 0
  beforeAll(async () => {
    rig = await startSeams()
  })
  afterAll(() => rig.stop())
  beforeEach(() => {
    there = join(realpathSync(rig.folder), `c${(count += 1)}`)
    mount = rig.mount(there)
    mkdirSync(join(there, 'v1'), { recursive: true })
    mkdirSync(join(there, 'v2'))
    writeFileSync(join(there, 'v1/f'), 'first')
    writeFileSync(join(there, 'v2/f'), 'second')
    symlinkSync('v1', join(there, 'now'))
  })

  const target = (name: string): Promise<FsTarget> => rig.fs.resolve(name, { cwd: mount })

  /** Everything that is told of one name. */
  async function told(name: string): Promise<unknown> {
    const found = await target(name)
    const info = await rig.fs.stat(found)
    const entry = await rig.fs.lstat(name, { cwd: mount })
    const names =
      info?.type === 'directory' ? (await rig.fs.listDir(found)).map((one) => one.name) : undefined
    const text = info?.type === 'file' ? await rig.fs.readText(found) : undefined
    return [found.targetKey.slice(`presence://demo${there}`.length), entry?.type, info?.type, names ?? text]
  }

  /** By three kinds of hands: our own seam where it can, a command, and somebody beside us. */
  const HANDS: Readonly<Record<string, (script: string) => Promise<unknown> | unknown>> = {
    'a command': (script) => rig.server.run(`cd ${there} && ${script}`),
    'somebody else': (script) => {
      const acts: Readonly<Record<string, () => void>> = {
        'ln -sfn v2 now': () => {
          symlinkSync('v2', join(there, 'next'))
          renameSync(join(there, 'next'), join(there, 'now'))
        },
        'rm v1/f; mkdir v1/f': () => {
          rmSync(join(there, 'v1/f'))
          mkdirSync(join(there, 'v1/f'))
        },
        'rm -r v1 v2': () => ['v1', 'v2'].forEach((name) => rmSync(join(there, name), { recursive: true })),
      }
      acts[script]?.()
    },
  }

  it.each(Object.keys(HANDS))('is looked at anew after %s changed it', async (who) => {
    const change = HANDS[who]
    expect(await told('now/f')).toEqual(['/v1/f', 'file', 'file', 'first'])
    expect(await told('now')).toEqual(['/v1', 'symlink', 'directory', ['f']])
    await change?.('ln -sfn v2 now')
    expect(await told('now/f')).toEqual(['/v2/f', 'file', 'file', 'second'])
    await change?.('rm v1/f; mkdir v1/f')
    expect(await told('v1/f')).toEqual(['/v1/f', 'directory', 'directory', []])
    await change?.('rm -r v1 v2')
    expect(await told('v1/f')).toEqual(['/v1/f', undefined, undefined, undefined])
    expect(await told('.')).toEqual(['', 'directory', 'directory', ['now']])
    expect(await told('now')).toEqual(['/now', 'symlink', undefined, undefined])
  })

  it('is looked at anew after we changed it ourselves', async () => {
    expect(await told('now/f')).toEqual(['/v1/f', 'file', 'file', 'first'])
    await rig.fs.writeText(await target('now/f'), 'other')
    await rig.fs.writeText(await target('now/new/g'), 'g')
    expect(await told('v1/f')).toEqual(['/v1/f', 'file', 'file', 'other'])
    expect(await told('now')).toEqual(['/v1', 'symlink', 'directory', ['f', 'new']])
    await rig.fs.editText(await target('now/f'), { oldString: 'other', newString: 'last', replaceAll: false })
    expect(await told('now/f')).toEqual(['/v1/f', 'file', 'file', 'last'])
  })
})

describe('C54, F104: a watch', () => {
  let fake: FakeServer
  let provider: Provider
  let mount = ''
  let asked = 0
  beforeEach(async () => {
    fake = await startFakeServer()
    provider = await startProvider({ demo: fake })
    mount = provider.mountOf('demo', fake.home)
    asked = 0
    fake.judge = () => {
      asked += 1
      return 'answer'
    }
  })
  afterEach(async () => {
    await provider.stop()
    await fake.stop()
  })

  it('of a folder that is removed tells of a change, and a second time when it is there again', async () => {
    const { fs } = provider
    mkdirSync(join(fake.home, 'd'))
    const heard: (Error | undefined)[] = []
    let next = Promise.withResolvers<void>()
    const leave = new AbortController()
    const changed = (error?: Error): void => {
      heard.push(error)
      next.resolve()
    }
    const stop = await fs.watch(await fs.resolve('d', { cwd: mount }), changed, leave.signal)
    rmSync(join(fake.home, 'd'), { recursive: true })
    await next.promise
    next = Promise.withResolvers()
    mkdirSync(join(fake.home, 'd'))
    await next.promise
    expect(heard.every((error) => error === undefined)).toBe(true)
    await stop()
  })

  it('asks nothing more when it has ended: when told to, with its caller, or with the provider', async () => {
    const { fs } = provider
    const leave = new AbortController()
    writeFileSync(join(fake.home, 'f'), 'x')
    const file = await fs.resolve('f', { cwd: mount })
    const heard: unknown[] = []
    const stops = await Promise.all(
      Array.from({ length: 10 }, () => fs.watch(file, () => void heard.push(1), leave.signal)),
    )
    await stops[0]?.()
    leave.abort()
    await Promise.all(stops.map((stop) => stop()))
    await fs.watch(file, () => void heard.push(2), new AbortController().signal)
    await provider.stop()
    const before = asked
    writeFileSync(join(fake.home, 'f'), 'changed')
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect([asked - before, heard]).toEqual([0, []])
  })
})
