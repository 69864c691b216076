/** What a save asks together where SFTP is all there is, and that nothing of it counts before the look is answered. */
import {
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { STATUS } from '../../../scripts/machine/embedded/sftp/status.ts'
import { CancelledError } from '../../../src/base/failure.ts'
import { FileError } from '../../../src/remote/files/errors.ts'
import type { Caller } from '../../../src/remote/files/memory/handover.ts'
import type { WriteOutcome } from '../../../src/remote/files/saving/change.ts'
import {
  startFakeServer,
  type FakeServer,
  type SftpRequest,
  type Verdict,
} from '../../support/fake-server.ts'
import { rigOf, type Rig } from '../../support/rig.ts'
import { file } from '../../ssh/life/line.ts'

const LIMIT = 1 << 20
const LOOK_AND_OPEN = ['stat', 'realpath', 'stat', 'lstat', 'open']

let fake: FakeServer
let rig: Rig
let folder = ''
const asked: SftpRequest['name'][] = []
beforeEach(async () => {
  fake = await startFakeServer()
  fake.runsCommands = false
  fake.handle = (closed) => closed.at(-1)
  rig = rigOf(fake.home, fake)
  folder = join(fake.home, 'inside')
  mkdirSync(folder)
  for (const name of ['f', 'g']) writeFileSync(at(name), 'one two')
  await begin()
  judge(() => 'answer')
})
afterEach(async () => {
  rig.pool.close()
  await fake.stop()
})

/** It is known whose files are ours, the handles are foretold, and both files have been read. */
async function begin(): Promise<void> {
  await rig.files.write(file(join(fake.home, 'first')), '', { kind: 'none' }, LIMIT)
  for (const name of ['f', 'g']) await read(name)
}

const at = (name: string): string => join(folder, name)
const call = (changes = false): Caller => ({ phase: 'tool', changes })
const read = async (name: string): Promise<string> => {
  const caller = call()
  const path = await rig.files.canonical(file(at(name)).path, { caller })
  return rig.files.readText({ path, shown: name }, { caller })
}
const version = async (name: string): Promise<string> => (await rig.files.stat(file(at(name))))?.version ?? ''

function judge(verdict: (name: SftpRequest['name']) => Verdict): void {
  asked.length = 0
  fake.judge = ({ name }) => {
    asked.push(name)
    return verdict(name)
  }
}

/** Only what is inside may be changed. */
function fence(path: string): void {
  if (!path.startsWith(`${folder}/`)) throw new FileError(`not ${path}`, 'sandbox-denied')
}

const write = (name: string, seen: string, content = 'mine'): Promise<WriteOutcome> =>
  rig.files.write(file(at(name)), content, { kind: 'version', version: seen }, LIMIT, {
    caller: call(true),
    fence,
  })
const edit = (name: string, seen: string, from = 'two', to = 'three'): Promise<WriteOutcome> =>
  rig.files.edit(file(at(name)), { oldString: from, newString: to, matches: 1 }, seen, {
    caller: call(true),
    fence,
  })

describe.each([
  ['writing', write],
  ['editing', edit],
])('%s what was read', (_what, change) => {
  it('makes the temporary file in the flight of the look', async () => {
    const seen = await version('f')
    judge((name) => (name === 'realpath' ? 'never' : 'answer'))
    change('f', seen).catch((_nobodyAnswers: unknown) => undefined)
    await expect.poll(() => asked).toEqual(LOOK_AND_OPEN)
  })

  it('fills it while the present content is compared, and publishes when all of that is answered', async () => {
    const seen = await version('f')
    for (const late of ['write', 'read', 'close'] as const) {
      const ofOther = await version('g')
      judge((name) => (name === late ? 'never' : 'answer'))
      change('g', ofOther).catch((_nobodyAnswers: unknown) => undefined)
      const flight = ['write', 'fsetstat', 'fsetstat', 'fstat', 'extended', 'open', 'read', 'read']
      const sent = (): string[] => asked.slice(LOOK_AND_OPEN.length).filter((name) => name !== 'close')
      await expect.poll(() => sent().toSorted()).toEqual(flight.toSorted())
      // Nothing of the next flight comes behind it.
      await rig.files.stat(file(fake.home))
      expect(sent().filter((name) => name === 'extended')).toHaveLength(1)
      rig.pool.close()
      judge(() => 'answer')
      rig = rigOf(fake.home, fake)
      await begin()
    }
    judge(() => 'answer')
    await change('f', seen)
    expect(asked.filter((name) => ['open', 'extended', 'stat'].includes(name)).slice(-2)).toEqual([
      'extended',
      'stat',
    ])
    expect(readdirSync(folder).filter((name) => name.startsWith('.f'))).toEqual([])
  })

  it('writes nothing, and leaves nothing, when the file is not as it was seen', async () => {
    const seen = await version('f')
    for (const spoil of [
      () => writeFileSync(at('f'), 'longer than it was'),
      () => renameSync(at('f'), at('elsewhere')),
      () => mkdirSync(at('f')),
    ]) {
      spoil()
      judge(() => 'answer')
      await expect(change('f', seen)).rejects.toMatchObject({ code: /stale|not-regular/ })
      expect(asked).not.toContain('write')
      expect(readdirSync(folder).filter((name) => name.includes('presence'))).toEqual([])
    }
  })

  it('sees another content under the same version, and leaves it', async () => {
    const seen = await version('f')
    const { atime, mtime } = statSync(at('f'))
    writeFileSync(at('f'), 'two one')
    utimesSync(at('f'), atime, mtime)
    expect(await version('f')).toBe(seen)
    await expect(change('f', seen)).rejects.toMatchObject({ code: 'stale' })
    expect([readFileSync(at('f'), 'utf8'), readdirSync(folder)]).toEqual(['two one', ['f', 'g']])
  })

  it('sends no content through a folder that has become a link past the fence', async () => {
    const seen = await version('f')
    renameSync(folder, join(fake.home, 'outside'))
    symlinkSync('outside', folder)
    judge(() => 'answer')
    await expect(change('f', seen)).rejects.toMatchObject({ code: 'sandbox-denied' })
    expect(asked).not.toContain('write')
    expect(readdirSync(join(fake.home, 'outside'))).toEqual(['f', 'g'])
    expect(readFileSync(at('f'), 'utf8')).toBe('one two')
  })

  it('follows such a link where it may, from the beginning', async () => {
    const seen = await version('f')
    mkdirSync(at('moved'))
    renameSync(at('f'), at('moved/f'))
    symlinkSync('moved/f', at('f'))
    await change('f', seen)
    expect(readFileSync(at('moved/f'), 'utf8')).toMatch(/mine|one three/)
    expect([readdirSync(folder), readdirSync(at('moved'))]).toEqual([['f', 'g', 'moved'], ['f']])
  })

  it('tells why no file can be made there', async () => {
    const seen = await version('f')
    judge((name) => (name === 'open' ? { status: STATUS.permissionDenied } : 'answer'))
    await expect(change('f', seen)).rejects.toMatchObject({ code: 'permission-denied' })
    expect(readFileSync(at('f'), 'utf8')).toBe('one two')
  })
})

it('a temporary file is removed when the caller leaves, whatever has been answered by then', async () => {
  const seen = await version('f')
  for (const when of ['realpath', 'open', 'write'] as const) {
    const leaving = new AbortController()
    judge((name) => {
      if (name === when) leaving.abort()
      return 'answer'
    })
    const guard = { kind: 'version', version: seen } as const
    const options = { caller: call(true), fence, signal: leaving.signal }
    await expect(rig.files.write(file(at('f')), 'mine', guard, LIMIT, options)).rejects.toThrow(
      CancelledError,
    )
    await expect.poll(() => readdirSync(folder)).toEqual(['f', 'g'])
    expect(readFileSync(at('f'), 'utf8')).toBe('one two')
  }
})

it('one edit after the other is worked out from what the last one wrote', async () => {
  let seen = await version('f')
  for (const [from, to] of [
    ['one', 'three'],
    ['two', 'four'],
    ['three', 'five'],
  ] as const) {
    judge(() => 'answer')
    const outcome = await edit('f', seen, from, to)
    expect(asked.slice(0, LOOK_AND_OPEN.length)).toEqual(LOOK_AND_OPEN)
    expect(readFileSync(at('f'), 'utf8')).toBe(outcome.after)
    seen = outcome.version
  }
  expect(readFileSync(at('f'), 'utf8')).toBe('five four')
})

describe('a new file', () => {
  const create = async (name: string): Promise<WriteOutcome> => {
    const caller = call(true)
    const path = await rig.files.canonical(file(at(name)).path, { caller })
    const guard = { kind: 'absent' } as const
    return rig.files.write({ path, shown: name }, 'new', guard, LIMIT, { caller, fence })
  }
  const left = (): string[] => readdirSync(folder).filter((name) => name.includes('presence'))

  it('is made in the flight of the look, and linked when all of it is written', async () => {
    await create('new')
    const made = asked.indexOf('open')
    const looks = ['realpath', 'stat', 'lstat', 'realpath', 'stat', 'lstat']
    const before = asked.slice(0, made).filter((name) => name !== 'close')
    expect(before.toSorted()).toEqual([...looks, 'stat', ...looks].toSorted())
    expect(asked.slice(made + 1)).toEqual([
      ...['write', 'fsetstat', 'fstat', 'extended', 'close'],
      ...['extended', 'remove', 'stat'],
    ])
    expect([readFileSync(at('new'), 'utf8'), left()]).toEqual(['new', []])
  })

  it('is made in folders that are not there', async () => {
    await create('one/two/new')
    expect([readFileSync(at('one/two/new'), 'utf8'), readdirSync(at('one/two'))]).toEqual(['new', ['new']])
  })

  it('is refused where one is, and nothing is written or left', async () => {
    await expect(create('f')).rejects.toMatchObject({ code: 'exists' })
    expect(asked).not.toContain('write')
    symlinkSync('nowhere', at('dangling'))
    const guard = { kind: 'absent' } as const
    const refused = rig.files.write(file(at('dangling')), 'new', guard, LIMIT, { fence })
    await expect(refused).rejects.toMatchObject({ code: 'not-regular' })
    expect([readdirSync(folder).includes('nowhere'), left()]).toEqual([false, []])
  })

  it('is refused below a file, and where none may be made', async () => {
    await expect(create('f/below')).rejects.toMatchObject({ code: 'not-found' })
    judge((name) => (name === 'open' ? { status: STATUS.permissionDenied } : 'answer'))
    await expect(create('new')).rejects.toMatchObject({ code: 'permission-denied' })
    expect(left()).toEqual([])
  })
})
