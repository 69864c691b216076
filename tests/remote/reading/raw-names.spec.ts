/** Names that are not UTF-8: seen, opened and changed by their own bytes, and never taken for another. */
import { mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bytesOfText, shownName, textOfBytes } from '../../../src/base/name-bytes.ts'
import { childOf, parseRemotePath, type RemotePath } from '../../../src/base/remote-path.ts'
import { RemoteProcess } from '../../../src/remote/process/remote-process.ts'
import { startRig, type Rig } from '../../support/rig.ts'

const LIMIT = 1 << 20
const SFTP_ONLY = ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp']

/** Latin-1, GBK, cut off, overlong, a half of a pair, and with a line end. */
const STRANGE = ['636166e92e747874', 'ff', 'd6d0cec4', 'e4bd61', 'c080', 'eda080', '610ae962', '2de9'].map(
  (hex) => Buffer.from(hex, 'hex'),
)

describe.each([
  ['a machine that runs commands', []],
  ['a machine with SFTP only', SFTP_ONLY],
])('%s', (_name, sshdConfig) => {
  let rig: Rig
  let folder: RemotePath
  let count = 0
  beforeAll(async () => {
    rig = await startRig({ sshdConfig })
  })
  afterAll(() => rig.stop())
  beforeEach(() => {
    folder = parseRemotePath(join(realpathSync(rig.folder), `r${(count += 1)}`))
    mkdirSync(folder)
  })

  const at = (name: Buffer | string): Buffer => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)])
  const list = (path: RemotePath = folder): ReturnType<Rig['files']['list']> =>
    rig.files.list({ path, shown: path })
  const names = (): string[] =>
    readdirSync(folder, 'buffer')
      .map((name) => name.toString('hex'))
      .toSorted()

  it('F92: shows them as the host does, and reads, edits and saves them by what it lists', async () => {
    for (const [index, name] of STRANGE.entries()) writeFileSync(at(name), `content ${index}\n`)
    const entries = await list()
    expect(entries.map(({ name, type }) => [name, type]).toSorted()).toEqual(
      STRANGE.map((name) => [name.toString('utf8'), 'file']).toSorted(),
    )
    for (const { name, path, version } of entries) {
      const bytes = bytesOfText(path)
      const entry = { path, shown: name }
      const index = STRANGE.findIndex((one) => at(one).equals(bytes))
      expect(await rig.files.readText(entry)).toBe(`content ${index}\n`)
      expect(version).toBe((await rig.files.stat(entry))?.version)
      const edit = { oldString: 'content', newString: 'changed', matches: 1 }
      const edited = await rig.files.edit(entry, edit, version)
      await rig.files.write(entry, 'saved\n', { kind: 'version', version: edited.version }, LIMIT)
      expect(readFileSync(bytes, 'utf8')).toBe('saved\n')
      await expect(rig.files.write(entry, '', { kind: 'absent' }, LIMIT)).rejects.toMatchObject({
        code: 'exists',
      })
    }
    expect(names()).toEqual(STRANGE.map((name) => name.toString('hex')).toSorted())
  })

  it('F92: finds them by what it showed, in every part of a path and through links', async () => {
    const [strange = Buffer.alloc(0)] = STRANGE
    mkdirSync(at(strange))
    const inner = Buffer.concat([at(strange), Buffer.from('/'), strange])
    writeFileSync(inner, 'inner')
    symlinkSync(inner, at('link'))
    const shown = parseRemotePath(join(folder, strange.toString('utf8'), strange.toString('utf8')))
    const exact = textOfBytes(inner) as RemotePath
    expect(await rig.files.canonical(shown)).toBe(exact)
    expect(await rig.files.canonical(childOf(folder, 'link'))).toBe(exact)
    expect(await rig.files.stat({ path: shown, shown })).toEqual(await rig.files.stat({ path: exact, shown }))
    expect((await rig.files.stat({ path: shown, shown }, { follow: false }))?.type).toBe('file')
    expect(
      await rig.files.canonical(parseRemotePath(`${shown}/none`)).catch((error: unknown) => error),
    ).toMatchObject({ code: 'not-found' })
    const missing = parseRemotePath(join(folder, strange.toString('utf8'), 'new\ufffd'))
    expect(shownName(await rig.files.canonical(missing))).toBe(missing)
  })

  it('F92: opens the file that really has the name that is shown, and marks the one that only reads like it', async () => {
    const [strange = Buffer.alloc(0)] = STRANGE
    const shown = parseRemotePath(join(folder, strange.toString('utf8')))
    writeFileSync(at(strange), 'theirs')
    writeFileSync(shown, 'decoy')
    expect(await rig.files.canonical(shown)).toBe(shown)
    expect(await rig.files.readText({ path: shown, shown })).toBe('decoy')
    const entries = await list()
    expect(entries.map(({ name }) => name)).toEqual([strange.toString('utf8'), strange.toString('utf8')])
    const marked = entries.find(({ type }) => type === 'other')
    expect(entries.find(({ type }) => type === 'file')?.path).toBe(shown)
    expect(marked).toMatchObject({ path: textOfBytes(at(strange)), version: undefined })
    expect(await rig.files.readText({ path: marked?.path ?? shown, shown })).toBe('theirs')
  })

  it('F92: takes none of several that read alike, to read it or to write there', async () => {
    writeFileSync(at(Buffer.from('a\xe9', 'latin1')), 'one')
    writeFileSync(at(Buffer.from('a\xe8', 'latin1')), 'two')
    const shown = parseRemotePath(join(folder, 'a\ufffd'))
    expect((await list()).map(({ name, type }) => [name, type])).toEqual([
      ['a\ufffd', 'other'],
      ['a\ufffd', 'other'],
    ])
    const refused = {
      code: 'bad-name',
      message: expect.stringContaining('2 names there read alike') as string,
    }
    await expect(rig.files.canonical(shown)).rejects.toMatchObject(refused)
    await expect(rig.files.stat({ path: shown, shown })).rejects.toMatchObject(refused)
    expect(names()).toHaveLength(2)
  })

  it('makes a file by the name that it is given, when no other reads like it', async () => {
    const path = await rig.files.canonical(parseRemotePath(join(folder, 'new\ufffd')))
    await rig.files.write({ path, shown: path }, 'x', { kind: 'absent' }, LIMIT)
    expect(names()).toEqual([Buffer.from('new\ufffd').toString('hex')])
  })
})

it('C49: every byte is a name, alone and in the middle, and comes back from it', async () => {
  const rig = await startRig({ sshdConfig: SFTP_ONLY })
  try {
    const folder = parseRemotePath(join(realpathSync(rig.folder), 'bytes'))
    mkdirSync(folder)
    const at = (...name: number[]): Buffer => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)])
    for (let byte = 1; byte < 256; byte += 1) {
      if (byte === 0x2f) continue
      // Half of them stand alone: a dot cannot.
      const name = byte % 2 === 0 ? [0x78, byte, 0x79] : [byte]
      writeFileSync(at(...name), `in ${byte}`)
    }
    const entries = await rig.files.list({ path: folder, shown: folder })
    const names = readdirSync(folder, 'buffer').map((name) => name.toString('hex'))
    expect(
      entries
        .map(({ path }) =>
          bytesOfText(path)
            .subarray(folder.length + 1)
            .toString('hex'),
        )
        .toSorted(),
    ).toEqual(names.toSorted())
    for (const { path } of entries) {
      const name = bytesOfText(path).subarray(folder.length + 1)
      const wanted = `in ${name[name.length === 1 ? 0 : 1]}`
      expect(await rig.files.readText({ path, shown: path })).toBe(wanted)
    }
  } finally {
    await rig.stop()
  }
})

it('a command may have them as its folder and among its arguments', async () => {
  const rig = await startRig()
  try {
    const [strange = Buffer.alloc(0)] = STRANGE
    const folder = Buffer.concat([Buffer.from(`${realpathSync(rig.folder)}/`), strange])
    mkdirSync(folder)
    writeFileSync(Buffer.concat([folder, Buffer.from('/'), strange]), 'inner')
    const process = new RemoteProcess(
      rig.machine,
      {
        argv: ['cat', textOfBytes(strange)],
        folder: textOfBytes(folder) as RemotePath,
        env: {},
        input: 'none',
        graceMs: 1000,
      },
      (_session, request) => request,
    )
    process.stderr.resume()
    expect(await text(process.stdout)).toBe('inner')
    expect(await process.done).toEqual({ exitCode: 0, signal: null })
  } finally {
    await rig.stop()
  }
})
