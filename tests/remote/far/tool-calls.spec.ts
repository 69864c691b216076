/** What a tool call asks of a machine that is taken for far away, and what it must never be told. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../../../scripts/project/children.ts'
import { FileError } from '../../../src/remote/files/errors.ts'
import type { Caller } from '../../../src/remote/files/memory/handover.ts'
import { file } from '../../ssh/life/line.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { askedBy } from './questions.ts'

let rig: Rig
let folder = ''
beforeAll(async () => {
  rig = await startRig()
  rig.machine.farFromMs = 0
})
afterAll(() => rig.stop())
beforeEach(() => {
  folder = mkdtempSync(join(rig.folder, 'case '))
})

const LIMIT = 1 << 20
const call = (changes = false): Caller => ({ phase: 'tool', changes })
const at = (name: string): string => join(folder, name)
const path = (name: string): ReturnType<typeof file>['path'] => file(at(name)).path
const version = async (name: string, caller = call()): Promise<string> =>
  (await rig.files.stat(file(at(name)), { caller }))?.version ?? ''

async function read(name: string, caller: Caller): Promise<string> {
  const canonical = await rig.files.canonical(path(name), { caller })
  await rig.files.stat({ path: canonical, shown: name }, { caller })
  return rig.files.readText({ path: canonical, shown: name }, { caller })
}

describe('reading', () => {
  it('is one question, whatever the name and through links', async () => {
    for (const name of ['plain', "it's a\nname", '-n', 'a*b', '~', 'é']) writeFileSync(at(name), `of ${name}`)
    symlinkSync("it's a\nname", at('link'))
    await read('plain', call())
    for (const name of ['plain', "it's a\nname", '-n', 'a*b', '~', 'é', 'link']) {
      let text = ''
      const asked = await askedBy(async () => (text = await read(name, call())))
      expect(text).toBe(`of ${name === 'link' ? "it's a\nname" : name}`)
      expect(asked, name).toEqual({ questions: 1, requests: 0 })
    }
  })

  it('never tells one call what was fetched for another', async () => {
    writeFileSync(at('f'), 'old')
    const first = call()
    const canonical = await rig.files.canonical(path('f'), { caller: first })
    writeFileSync(at('f'), 'new, by somebody else')
    const target = { path: canonical, shown: 'f' }
    expect(await rig.files.readText(target, { caller: call() })).toBe('new, by somebody else')
    expect((await rig.files.stat(target))?.size).toBe(21)
  })

  it('asks anew after a change of ours in between', async () => {
    writeFileSync(at('f'), 'old')
    const caller = call()
    const canonical = await rig.files.canonical(path('f'), { caller })
    await rig.files.write(file(at('f')), 'new', { kind: 'none' }, LIMIT)
    expect(await rig.files.readText({ path: canonical, shown: 'f' }, { caller })).toBe('new')
  })

  it('gives what is too large to come along all the same, and lists a folder with the look at it', async () => {
    const large = 'line of text\n'.repeat(100_000)
    writeFileSync(at('large'), large)
    expect((await read('large', call())) === large).toBe(true)
    const caller = call()
    const canonical = await rig.files.canonical(path('.'), { caller })
    const asked = await askedBy(async () => {
      const listed = await rig.files.list({ path: canonical, shown: '.' }, { caller })
      expect(listed.map(({ name, size }) => [name, size])).toEqual([['large', large.length]])
    })
    expect(asked).toEqual({ questions: 0, requests: 0 })
  })
})

describe('changing', () => {
  it('is one question after a read, and keeps the mode', async () => {
    for (const mode of [0o644, 0o600, 0o755, 0o664, 0o444]) {
      writeFileSync(at('f'), 'one two')
      chmodSync(at('f'), mode)
      await read('f', call())
      const seen = await version('f')
      const caller = call(true)
      let after = ''
      const asked = await askedBy(async () => {
        const canonical = await rig.files.canonical(path('f'), { caller })
        const edit = { oldString: 'two', newString: 'three', matches: 1 as const }
        const outcome = await rig.files.edit({ path: canonical, shown: 'f' }, edit, seen, { caller })
        after = outcome.version
        expect(outcome).toMatchObject({ before: 'one two', after: 'one three' })
      })
      expect(asked).toEqual({ questions: 1, requests: 0 })
      expect(readFileSync(at('f'), 'utf8')).toBe('one three')
      expect((statSync(at('f')).mode & 0o7777).toString(8)).toBe(mode.toString(8))
      expect(await version('f')).toBe(after)
      rmSync(at('f'))
    }
    expect(readdirSync(folder)).toEqual([])
  })

  it('of what is not as it was seen is refused, and nothing is left behind', async () => {
    writeFileSync(at('f'), 'one two')
    await read('f', call())
    const seen = await version('f')
    writeFileSync(at('f'), 'one TWO')
    const edit = { oldString: 'two', newString: 'three', matches: 1 as const }
    await expect(rig.files.edit(file(at('f')), edit, seen, { caller: call(true) })).rejects.toMatchObject({
      code: 'stale',
    })
    const guard = { kind: 'absent' } as const
    await expect(
      rig.files.write(file(at('f')), 'new', guard, LIMIT, { caller: call(true) }),
    ).rejects.toMatchObject({ code: 'exists' })
    expect([readdirSync(folder), readFileSync(at('f'), 'utf8')]).toEqual([['f'], 'one TWO'])
  })

  it('follows a folder and a file that have become links since, as far as the fence allows', async () => {
    for (const name of ['inside', 'elsewhere']) mkdirSync(at(name))
    writeFileSync(at('inside/f'), 'inside')
    writeFileSync(at('elsewhere/f'), 'elsewhere')
    const caller = call(true)
    await read('inside/f', call())
    renameSync(at('inside'), at('moved'))
    symlinkSync('elsewhere', at('inside'))
    const canonical = await rig.files.canonical(path('inside/f'), { caller })
    const target = { path: canonical, shown: 'f' }
    const refused: string[] = []
    const fence = (where: string): void => {
      if (where.startsWith(at('inside'))) return
      refused.push(where)
      throw new FileError(`not ${where}`, 'sandbox-denied')
    }
    await expect(
      rig.files.write(target, 'new', { kind: 'none' }, LIMIT, { caller, fence }),
    ).rejects.toMatchObject({ code: 'sandbox-denied' })
    expect(refused).toEqual([at('elsewhere/f')])
    await rig.files.write(target, 'new', { kind: 'none' }, LIMIT, { caller })
    expect([readFileSync(at('moved/f'), 'utf8'), readFileSync(at('elsewhere/f'), 'utf8')]).toEqual([
      'inside',
      'new',
    ])
  })

  it('takes no line of a content for a question, when the disk is full in the middle of it', async () => {
    const disk = at('disk')
    mkdirSync(disk)
    await run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
    try {
      writeFileSync(join(disk, 'f'), 'old')
      const evil = `\ntouch '${at('taken')}'\neval "touch '${at('taken')}'"\n`
      const content = evil.repeat(Math.ceil(400_000 / evil.length))
      await expect(
        rig.files.write(file(join(disk, 'f')), content, { kind: 'none' }, 0, { caller: call() }),
      ).rejects.toMatchObject({ code: 'io', message: expect.stringContaining('disk there is full') })
      expect([readFileSync(join(disk, 'f'), 'utf8'), readdirSync(disk)]).toEqual(['old', ['f']])
      // The same shell answers on.
      const asked = await askedBy(() => rig.files.canonical(file(join(disk, 'f')).path, { caller: call() }))
      expect(asked).toEqual({ questions: 1, requests: 0 })
      expect(existsSync(at('taken'))).toBe(false)
    } finally {
      await run(['umount', disk])
    }
  })
})
