/** Files and commands that share the few sessions of one connection, in bursts. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { outputOf } from '../support/command-output.ts'
import { startRig, type Rig } from '../support/rig.ts'

let rig: Rig | undefined
afterEach(() => rig?.stop())

it.each([10, 2, 1])(
  'F43, F44: 40 commands and 40 reads at once all succeed with %i sessions, beside an open terminal',
  async (sessions) => {
    const used = (rig = await startRig({ sshdConfig: [`MaxSessions ${sessions}`] }))
    writeFileSync(join(used.folder, 'f'), 'content')
    const file = { path: parseRemotePath(join(used.folder, 'f')), shown: 'f' }
    const session = await used.machine.session()
    expect(session.capabilities).toMatchObject({ commands: { kind: 'shell' }, sftp: { kind: 'sftp' } })
    const size = { type: 'dumb', rows: 24, cols: 80 }
    const terminal = await session.exec('cat', { terminal: size, lasting: true })
    terminal.stdout.resume()
    const commands = Array.from({ length: 40 }, (_, index) => outputOf(session.exec, `echo ${index}`))
    const reads = Array.from({ length: 40 }, () => used.files.readText(file))
    expect(await Promise.all(commands)).toEqual(Array.from({ length: 40 }, (_, index) => `${index}\n`))
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['content']))
    expect((await used.machine.session()).link).toBe(session.link)
    terminal.close()
    await terminal.closed
  },
)
