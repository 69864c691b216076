/** One file has one version whoever tells it, and another one after every change; also where SFTP is all there is. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRig, type Rig } from '../support/rig.ts'
import { file } from '../ssh/life/line.ts'

const LIMIT = 1 << 20
const SFTP_ONLY = ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp']

/** How a caller comes to know a version. */
const READERS: Readonly<Record<string, (rig: Rig, path: string) => Promise<unknown>>> = {
  'as text': (rig, path) => rig.files.readText(file(path)),
  'as a stream': async (rig, path) => {
    let text = ''
    for await (const piece of rig.files.streamText(file(path))) text += piece
    return text
  },
  'as bytes': (rig, path) => rig.files.readBytes(file(path), LIMIT),
}

/** Changes of `aaaa` to `bbbb` in the same second, or in what looks like it. */
const CHANGES: Readonly<Record<string, (path: string) => void>> = {
  'in the same second': (path) => writeFileSync(path, 'bbbb'),
  'with its time put back': (path) => {
    const { atime, mtime } = statSync(path)
    writeFileSync(path, 'bbbb')
    utimesSync(path, atime, mtime)
  },
  'by another file with its time': (path) => {
    const { atime, mtime, mode } = statSync(path)
    writeFileSync(`${path}.next`, 'bbbb', { mode })
    utimesSync(`${path}.next`, atime, mtime)
    renameSync(`${path}.next`, path)
  },
}

describe.each([
  ['a machine that runs commands', []],
  ['a machine with SFTP only', SFTP_ONLY],
])('%s', (_name, sshdConfig) => {
  let rig: Rig
  let folder = ''
  beforeAll(async () => {
    rig = await startRig({ sshdConfig })
    folder = mkdtempSync(join(rig.folder, 'v-'))
  })
  afterAll(() => rig.stop())
  const versionOf = async (path: string): Promise<string> => (await rig.files.stat(file(path)))?.version ?? ''
  let count = 0
  const fresh = (content = 'aaaa'): string => {
    const path = join(folder, `f${(count += 1)}`)
    writeFileSync(path, content)
    return path
  }

  it('C45: has one version for stat, listing, link, reading, writing and editing', async () => {
    mkdirSync(join(folder, 'd'))
    const path = join(folder, 'd/f')
    const wrote = await rig.files.write(file(path), 'aaaa', { kind: 'none' }, LIMIT)
    const listed = async (): Promise<string | undefined> =>
      (await rig.files.list(file(join(folder, 'd')))).find(({ name }) => name === 'f')?.version
    expect([await versionOf(path), await listed()]).toEqual([wrote.version, wrote.version])
    expect((await rig.files.stat(file(path), { follow: false }))?.version).toBe(wrote.version)
    const edited = await rig.files.edit(
      file(path),
      { oldString: 'a', newString: 'c', matches: 'any' },
      wrote.version,
    )
    expect(edited.version === wrote.version && sshdConfig.length === 0).toBe(false)
    expect([await versionOf(path), await listed()]).toEqual([edited.version, edited.version])
  })

  describe.each(Object.keys(CHANGES))('a change of the same size %s', (how) => {
    it.each(Object.keys(READERS))('F89: is seen by who read the file %s', async (reader) => {
      for (const change of ['write', 'edit'] as const) {
        const path = fresh()
        const version = await versionOf(path)
        await READERS[reader]?.(rig, path)
        CHANGES[how]?.(path)
        const attempt =
          change === 'write'
            ? rig.files.write(file(path), 'mine', { kind: 'version', version }, LIMIT)
            : rig.files.edit(file(path), { oldString: 'b', newString: 'c', matches: 'any' }, version)
        await expect(attempt).rejects.toMatchObject({ code: 'stale' })
        expect(readFileSync(path, 'utf8')).toBe('bbbb')
      }
    })

    it('F89: is seen by who wrote the file', async () => {
      const path = fresh('old')
      const { version } = await rig.files.write(file(path), 'aaaa', { kind: 'none' }, LIMIT)
      CHANGES[how]?.(path)
      await expect(
        rig.files.write(file(path), 'mine', { kind: 'version', version }, LIMIT),
      ).rejects.toMatchObject({ code: 'stale' })
      expect(readFileSync(path, 'utf8')).toBe('bbbb')
    })
  })

  it('does not take for a change what is none', async () => {
    const path = fresh()
    const version = await versionOf(path)
    await rig.files.readText(file(path))
    const first = await rig.files.write(file(path), 'bbbb', { kind: 'version', version }, LIMIT)
    await rig.files.write(file(path), 'cccc', { kind: 'version', version: first.version }, LIMIT)
    expect(readFileSync(path, 'utf8')).toBe('cccc')
  })
})
