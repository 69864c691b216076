/** Output that is still on its way when the server has told the end of the command. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { RemoteProcess } from '../../../src/remote/process/remote-process.ts'
import { startRig, type Rig } from '../../support/rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
  await rig.machine.session()
})
afterAll(() => rig.stop())

const GRACE_MS = 100
const start = (argv: readonly string[]): RemoteProcess =>
  new RemoteProcess(
    rig.machine,
    { argv, folder: parseRemotePath(rig.folder), env: {}, input: 'none', graceMs: GRACE_MS },
    (_session, request) => request,
  )

// The channel's window is full at about 4 MiB, the rest waits in the pipe of a program that has ended.
it.each(Array.from({ length: 12 }, (_, index) => 4100 + index * 12))(
  'is not cut off by a reader who comes late: %i KiB',
  async (kibibytes) => {
    writeFileSync(join(rig.folder, 'much'), Buffer.alloc(kibibytes * 1024, 'x'))
    const process = start(['cat', 'much'])
    process.stderr.resume()
    await new Promise((resolve) => setTimeout(resolve, 4 * GRACE_MS))
    const [output, exit] = await Promise.all([buffer(process.stdout), process.done])
    expect(exit).toEqual({ exitCode: 0, signal: null })
    expect(output.length).toBe(kibibytes * 1024)
  },
)

it('is not waited for when it is that of a child which lives on and is silent', async () => {
  const process = start(['sh', '-c', 'sleep 300 & echo started'])
  process.stderr.resume()
  const [output, exit] = await Promise.all([buffer(process.stdout), process.done])
  expect(exit.exitCode).toBe(0)
  expect(output.toString()).toBe('started\n')
  process.terminate()
})
