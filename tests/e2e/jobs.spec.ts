/** Background jobs through the host's own tools, over a reset of the connection and a crash of the host. */
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { startWeb } from '../../scripts/host/web.ts'
import { call, setStage } from '../support/host.ts'
import { makeWorkspace, openSession, play } from '../support/web.ts'

vi.setConfig({ testTimeout: 240_000 })

it('C17, C59: a killed host finds its jobs again: listed, read on where it was, as confined, ended, with their exit codes', async () => {
  const stage = await setStage({ profile: 'web' })
  let web = await startWeb(stage.home)
  try {
    const project = join(realpathSync(stage.machine.home), 'project')
    mkdirSync(project)
    const workspace = await makeWorkspace(web, 'demo', project)
    const session = await openSession(web, { workspaceId: workspace.id ?? '' })
    const wait = `while [ ! -e ${project}/go ]; do sleep 0.05; done`
    // The session is confined to its workspace, as it is by default.
    const escape = `if echo x > ${project}-outside; then echo escaped; else echo fenced; fi 2>/dev/null`
    const background = (command: string): ReturnType<typeof call> =>
      call('bash', { command, run_in_background: true, description: 'job' })
    const started = await play(web, session, [
      background(`echo begun; echo oops >&2; ${wait}; ${escape}; echo over; echo done >&2; exit 3`),
      background('exec sleep 4713'),
      call('job_list', {}),
    ])
    expect(started.map((result) => result.isError)).toEqual(started.map(() => false))
    expect(started[2]?.text).toMatch(/^bash-1 \[bash\] running — .*\nbash-2 \[bash\] running — /)
    let early = ''
    while (!early.includes('begun') || !early.includes('oops')) {
      const [read] = await play(web, session, [call('job_output', { job_id: 'bash-1' })])
      early += read?.text ?? ''
    }
    const records = join(stage.home.folder, 'presence/jobs')
    // A record is named after its job, as the job's folder on the machine is; others may be at work there too.
    const ids = readdirSync(records).map((name) => name.split('.', 1)[0] ?? '')
    expect(ids.length).toBe(2)

    await web.kill()
    // It may not log in any more: what that means for its jobs is told, and they go on.
    stage.machines({}, { identityFile: join(stage.home.folder, 'no-such-key') })
    web = await startWeb(stage.home)
    let hindered = ''
    while (!hindered.includes('not followed now')) {
      const [read] = await play(web, session, [call('job_output', { job_id: 'bash-1' })])
      hindered = read?.text ?? ''
    }
    expect(hindered).toMatch(/^\[not followed now, and may still run: demo: .+\]\n\[status: running\]$/)
    stage.machines()
    writeFileSync(join(project, 'go'), '')
    await play(web, session, [call('read', { file_path: 'go' })])
    const found = await play(web, session, [
      call('job_list', {}),
      call('job_output', { job_id: 'bash-1', wait: true }),
      call('job_output', { job_id: 'bash-2' }),
      call('job_kill', { job_id: 'bash-2' }),
      call('job_output', { job_id: 'bash-2', wait: true }),
    ])
    expect(found.map((result) => result.isError)).toEqual(found.map(() => false))
    const texts = found.map((result) => result.text)
    expect(texts[0]).toContain(`bash-1 [bash] `)
    expect(texts[0]).toContain('bash-2 [bash] running — exec sleep 4713')
    expect(texts[1]).toBe('fenced\nover\n[stderr]\ndone\n[status: completed, exit code: 3]')
    expect(texts[2]).toBe('(no new output)\n[status: running]')
    expect(texts[4]).toBe('(no new output)\n[status: killed, signal: SIGTERM]')
    expect((await stage.machine.run('pgrep -fc "^sleep 4713"')).stdout.trim()).toBe('0')
    // Nothing is left on either computer.
    await until(() => readdirSync(records).length === 0)
    const left = await stage.machine.run('ls -d "${TMPDIR:-/tmp}"/presence-job-* 2>/dev/null')
    const ours = left.stdout.split('\n').filter((path) => ids.some((id) => path.includes(id)))
    expect(ours).toEqual([])
  } finally {
    await web.stop()
    await stage.stop()
  }
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20))
}
