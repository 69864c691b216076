/** What the account may not look at is told as an error, once, and heard of again when it may. */
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileError } from '../../../src/remote/files/errors.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { listen, until } from './ears.ts'

describe.each([
  ['a machine with inotifywait', []],
  ['a machine with SFTP only', ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp']],
])('on %s', (_name, sshdConfig) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await startRig({ user: 'tester', sshdConfig })
  })
  afterAll(() => rig.stop())

  /** A folder of the account with a file and a folder in it. */
  const prepared = (): string => {
    const { uid, gid } = statSync(rig.folder)
    const folder = mkdtempSync(join(rig.folder, 'w-'))
    mkdirSync(join(folder, 'sub'))
    writeFileSync(join(folder, 'f'), 'a')
    for (const path of [folder, join(folder, 'sub'), join(folder, 'f')]) chownSync(path, uid, gid)
    return folder
  }

  it('a watch does not begin where it may not look', async () => {
    const folder = prepared()
    const refused = async (path: string): Promise<void> => {
      const failure = await listen(rig.files, path).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(FileError)
      expect(failure).toMatchObject({
        code: 'permission-denied',
        message: `cannot watch "${path}": permission denied`,
      })
    }
    chmodSync(join(folder, 'sub'), 0o300)
    await refused(join(folder, 'sub'))
    chmodSync(folder, 0o600)
    await refused(join(folder, 'f'))
    chmodSync(folder, 0o700)
  })

  it('a watch tells that it may not look any more, once, and of changes when it may again', async () => {
    const folder = prepared()
    const file = await listen(rig.files, join(folder, 'f'))
    const sub = await listen(rig.files, join(folder, 'sub'))
    const sentinel = await listen(rig.files, join(rig.folder, 'sentinel'))
    chmodSync(folder, 0o600)
    await until(() => file.errors.length === 1 && sub.errors.length === 1)
    expect(file.errors[0]).toMatchObject({
      code: 'permission-denied',
      message: `cannot watch "${join(folder, 'f')}": permission denied`,
    })
    expect(sub.errors[0]).toMatchObject({ code: 'permission-denied' })
    // What is looked at again and again is not told again and again.
    for (const content of ['a', 'ab', 'abc']) {
      writeFileSync(join(rig.folder, 'sentinel'), content)
      await sentinel.hears(content)
    }
    expect([file.errors.length, sub.errors.length]).toEqual([1, 1])
    appendFileSync(join(folder, 'f'), 'b')
    chmodSync(folder, 0o700)
    await file.hears('ab')
    await sub.hears('')
    for (const ears of [file, sub, sentinel]) await ears.end()
  })

  it('a file in a folder that may not be read is watched all the same, beside others', async () => {
    const folder = prepared()
    const other = prepared()
    chmodSync(folder, 0o300)
    const hidden = await listen(rig.files, join(folder, 'f'))
    const open = await listen(rig.files, other)
    for (const content of ['ab', 'abc']) {
      writeFileSync(join(folder, 'f'), content)
      await hidden.hears(content)
      writeFileSync(join(other, 'f'), content)
      await open.hears(`f=${content} sub=/`)
    }
    await hidden.end()
    await open.end()
    chmodSync(folder, 0o700)
  })
})
