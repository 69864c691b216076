/** New keys in the middle of everything: the server asks for them after every few hundred kilobytes. */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { RemoteProcess } from '../../../src/remote/process/remote-process.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { file } from './line.ts'

const BYTES = 8 * 1024 * 1024

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ sshdConfig: ['RekeyLimit 256K', 'LogLevel DEBUG1'] })
})
afterAll(() => rig.stop())

const hashOf = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

it('F41: 8 MiB read, written and printed at once are the same bytes, however often the keys change', async () => {
  const [read, printed] = [randomBytes(BYTES), randomBytes(BYTES)]
  const written = randomBytes(BYTES / 2).toString('hex')
  writeFileSync(join(rig.folder, 'read'), read)
  writeFileSync(join(rig.folder, 'printed'), printed)
  const { link } = await rig.machine.session()
  const told: string[] = []
  rig.machine.connection.changes.on(({ kind }) => told.push(kind))
  const command = new RemoteProcess(
    rig.machine,
    {
      argv: ['cat', 'printed'],
      folder: parseRemotePath(rig.folder),
      env: {},
      input: 'none',
      graceMs: 1000,
    },
    (_session, request) => request,
  )
  command.stderr.resume()
  const [output, bytes, , exit] = await Promise.all([
    buffer(command.stdout),
    rig.files.readBytes(file(join(rig.folder, 'read')), 2 * BYTES),
    rig.files.write(file(join(rig.folder, 'written')), written, { kind: 'none' }, 0),
    command.done,
  ])
  expect(exit).toEqual({ exitCode: 0, signal: null })
  expect(hashOf(bytes)).toBe(hashOf(read))
  expect(output.length).toBe(printed.length)
  expect(hashOf(output)).toBe(hashOf(printed))
  expect(hashOf(readFileSync(join(rig.folder, 'written')))).toBe(hashOf(written))
  // No false alarm has cost the connection, and nobody was told that it is being made.
  expect((await rig.machine.session()).link).toBe(link)
  expect(told).toEqual([])
  expect(rig.machine.connection.state.kind).toBe('ready')
  const log = readFileSync(join(dirname(rig.folder), 'sshd.log'), 'utf8')
  expect(log.split('SSH2_MSG_NEWKEYS received').length).toBeGreaterThan(50)
}, 90_000)
