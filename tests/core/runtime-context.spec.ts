/** What the model is told of its machine in every state; that it is told, and once, is tested in a real host. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { Presence, SEAMS } from '../../src/core/presence.ts'
import { runtimeContext } from '../../src/core/runtime-context.ts'
import { entryOf } from '../support/host.ts'
import { until } from '../remote/jobs/bench.ts'
import { startRig, type Rig } from '../support/rig.ts'

let folder = ''
let rig: Rig
let files: Rig
let presence: Presence

beforeAll(async () => {
  ;[rig, files] = await Promise.all([
    startRig(),
    startRig({ sshdConfig: ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp'] }),
  ])
  folder = mkdtempSync(join(tmpdir(), 'presence-context-'))
  mkdirSync(join(folder, 'presence'))
  const machines = { demo: entryOf(rig.server), files: entryOf(files.server) }
  writeFileSync(join(folder, 'presence/machines.yml'), JSON.stringify(machines))
  presence = new Presence({ DSH_HOME: folder, PATH: process.env['PATH'] })
})
afterAll(async () => {
  presence.close()
  await Promise.all([rig.stop(), files.stop()])
  rmSync(folder, { recursive: true, force: true })
})

const told = (machine: string): string =>
  runtimeContext(presence, presence.mounts.format({ machine, path: parseRemotePath('/srv/p') }))

describe('what the model is told of its machine', () => {
  it('is nothing without a folder there, and the name of one that is not known any more', () => {
    expect(runtimeContext(presence, undefined)).toBe('')
    expect(runtimeContext(presence, folder)).toBe('')
    expect(runtimeContext(presence, join(presence.mounts.root, 'gone/srv/p'))).toContain('"gone"')
  })

  it('names the tools that act there: ours alone as long as the host’s own services are not replaced', () => {
    expect(told('demo')).toContain('Only the presence_* tools act there')
    for (const seam of SEAMS) presence.seams.add(seam)
    expect(told('demo')).toContain('All tools act there')
    expect(told('demo')).toContain('in /srv/p.')
    expect(told('demo')).toContain('presence/mounts/demo/srv/p is another spelling')
  })

  it('tells the state of the link, and what the machine is and can do once it is known', async () => {
    expect(told('demo')).toMatch(/Link: not connected\.$/)
    const connecting = presence.machine('demo').session()
    expect(told('demo')).toMatch(/Link: connecting\.$/)
    const { shell } = await connecting
    expect(told('demo')).toContain(`Link: connected; ${shell?.os}, user ${shell?.user}.`)
    expect(told('demo')).toMatch(/Search engine: .+\. Confinement of commands: .+\.$/)
    const { state } = presence.machine('demo').connection
    if (state.kind !== 'ready') throw new Error(state.kind)
    const silent = { ...state, kind: 'degraded' as const, silentSince: new Date() }
    const spy = vi.spyOn(presence.machine('demo').connection, 'state', 'get').mockReturnValue(silent)
    expect(told('demo')).toContain('Link: connected, but the machine does not answer just now;')
    spy.mockRestore()
    presence.machine('demo').connection.drop()
    expect(told('demo')).toMatch(/Link: not connected\.$/)
  })

  it('names the background jobs that are not followed while only the user can help, and why', async () => {
    const demo = presence.machine('demo')
    const origin = { session: 'one', command: 'sleep 7310 # a job', cwd: '/', mode: undefined }
    const { job } = presence.jobs.start(
      demo,
      origin,
      {
        argv: ['sh', '-c', 'echo up; exec sleep 7310'],
        folder: parseRemotePath('/'),
        env: {},
        input: 'none',
        graceMs: 300,
      },
      (_session, request) => request,
    )
    for (const stream of [job.stdout, job.stderr]) stream.resume()
    const cwd = presence.mounts.format({ machine: 'demo', path: parseRemotePath('/srv/p') })
    const lines = (session: string): string[] => runtimeContext(presence, cwd, session).split('\n')
    const file = join(folder, 'presence/machines.yml')
    const written = readFileSync(file, 'utf8')
    const configure = (text: string): void => {
      writeFileSync(file, text)
      // A name that is not known is looked for in the file at once.
      expect(presence.machines.isMachine('none')).toBe(false)
    }
    await new Promise((resolve) => job.stdout.once('data', resolve))
    configure(written.replaceAll(rig.server.identityFile, '/nonexistent/key'))
    demo.connection.drop()
    await until(() => job.obstacle !== undefined)
    expect(lines('one').at(-1)).toBe(
      `The background job (sleep 7310 # a job) cannot be followed until the user has connected again, and may still run there: ${job.obstacle ?? ''}`,
    )
    expect(lines('another').at(-1)).toMatch(/^Link: /)
    configure(written)
    await demo.session()
    job.terminate()
    expect(await job.done).toMatchObject({ signal: 'SIGTERM' })
    expect(lines('one').at(-1)).toMatch(/^Link: /)
  })

  it('says when an account runs no commands', async () => {
    await presence.machine('files').session()
    const without = 'Link: connected. This account runs no commands. Files can be used.'
    expect(told('files').endsWith(without), told('files')).toBe(true)
  })
})
