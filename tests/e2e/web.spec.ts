import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import type { WorkspaceView } from '../../src/wire/api.ts'
import { call, entryOf, filesBelow, setStage, type Stage } from '../support/host.ts'
import { startProxy } from '../support/proxy.ts'
import { callPanel, makeWorkspace, openSession, play } from '../support/web.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let stage: Stage
let web: WebHost
let project = ''
let local = ''
let workspace: WorkspaceView

beforeAll(async () => {
  stage = await setStage({ profile: 'web' })
  project = join(realpathSync(stage.machine.home), 'project')
  local = join(stage.userHome, 'local')
  for (const folder of [project, local]) {
    mkdirSync(join(folder, 'sub'), { recursive: true })
    writeFileSync(join(folder, 'hello.txt'), 'line one\nneedle here\n')
  }
  web = await startWeb(stage.home)
  workspace = await makeWorkspace(web, 'demo', project)
})
afterAll(async () => {
  await web.stop()
  await stage.stop()
})

const six = [
  call('read', { file_path: 'hello.txt' }),
  call('write', { file_path: 'made.txt', content: 'made\n' }),
  call('bash', { command: 'pwd', description: 'where' }),
  call('grep', { pattern: 'needle' }),
  call('glob', { pattern: 'hello*' }),
  call('edit', { file_path: 'made.txt', old_string: 'made', new_string: 'changed' }),
]

describe('a remote workspace in the web profile', () => {
  it('stands in the host’s own list, recognisably remote', async () => {
    expect(workspace).toMatchObject({ host: 'demo', path: project, title: `demo:${project}`, active: false })
    const list = await web.rpc<{ items: { path: string; title: string }[] }>('workspace.list', {})
    expect(list.items.map(({ path, title }) => ({ path, title }))).toContainEqual({
      path: workspace.marker,
      title: `demo:${project}`,
    })
  })

  it('opens a session whose tools work on the machine, beside a local one that is as ever', async () => {
    const remote = await openSession(web, { workspaceId: workspace.id ?? '' })
    const here = await openSession(web, { cwd: local })
    const [there, beside] = await Promise.all([play(web, remote, six), play(web, here, six)])
    expect(there.map((result) => result.isError)).toEqual(six.map(() => false))
    expect(beside.map((result) => result.isError)).toEqual(six.map(() => false))
    expect(there.find((result) => result.tool === 'bash')?.text).toBe(`${project}\n`)
    expect(beside.find((result) => result.tool === 'bash')?.text).toBe(`${realpathSync(local)}\n`)
    expect((await stage.machine.run(`cat ${project}/made.txt`)).stdout).toBe('changed\n')
    expect(filesBelow(join(stage.home.folder, 'presence/mounts'))).toEqual([])
  })

  it('offers the machine’s files for @ references', async () => {
    const session = await openSession(web, { workspaceId: workspace.id ?? '' })
    const ask = (query: string): Promise<unknown> =>
      web.rpc('fileReferences/list', { args: { agentId: session, query } })
    expect(await ask('hel')).toEqual([{ path: 'hello.txt', kind: 'file' }])
    expect(await ask('')).toContainEqual({ path: 'sub', kind: 'directory' })
    expect(await ask('sub/')).toEqual([])
    expect(await ask('../')).toEqual([])
  })

  it('C17, C59: runs background jobs on the machine and ends them there', async () => {
    const session = await openSession(web, { workspaceId: workspace.id ?? '' })
    const started = await play(web, session, [
      call('bash', { command: 'echo begun; sleep 4711', run_in_background: true, description: 'job' }),
    ])
    const id = /job[^\n]*?([A-Za-z0-9_-]*\d[A-Za-z0-9_-]*)/.exec(started[0]?.text ?? '')?.[1]
    expect(id, started[0]?.text).toBeDefined()
    expect((await stage.machine.run('pgrep -fc "^sleep 4711"')).stdout.trim()).toBe('1')
    const ended = await play(web, session, [
      call('job_kill', { job_id: id }),
      call('job_output', { job_id: id, wait: true }),
    ])
    expect(ended.map((result) => result.text).join('\n')).toContain('begun')
    expect((await stage.machine.run('pgrep -fc "^sleep 4711"')).stdout.trim()).toBe('0')
  })

  it('keeps a persistent terminal on the machine from call to call, in the minimal preset', async () => {
    const session = await openSession(web, { workspaceId: workspace.id ?? '', agentPreset: 'minimal' })
    const results = await play(web, session, [
      call('bash', { command: 'cd sub && kept=yes && pwd' }),
      call('bash', {
        command: 'pwd; echo "kept: $kept"; echo x > ../outside-of-sub.txt && cat ../outside-of-sub.txt',
      }),
      call('bash', { command: 'echo x > /etc/presence-terminal' }),
    ])
    expect(results.map((result) => result.isError)).toEqual([false, false, false])
    expect(results[0]?.text).toContain(`${project}/sub`)
    expect(results[1]?.text).toContain('kept: yes')
    expect((await stage.machine.run(`cat ${project}/outside-of-sub.txt`)).stdout).toBe('x\n')
    // The terminal is confined as the host confines its own.
    expect(results[2]?.text).toMatch(/Read-only file system/)
  })
})

describe('when the machine goes away under a running host', () => {
  it('every tool says so and names it, local sessions go on, and the next call after it is back works', async () => {
    const remote = await openSession(web, { workspaceId: workspace.id ?? '' })
    const here = await openSession(web, { cwd: local })
    await play(web, remote, [call('read', { file_path: 'hello.txt' })])
    await stage.machine.stop()
    const [gone, still] = await Promise.all([
      play(web, remote, six),
      play(web, here, [
        call('read', { file_path: 'hello.txt' }),
        call('bash', { command: 'echo fine', description: 'x' }),
      ]),
    ])
    for (const result of gone) {
      expect(result.isError, `${result.tool}: ${result.text}`).toBe(true)
      // The host's own rule about unread files speaks before the machine is asked.
      if (result.tool !== 'edit') expect(result.text).toContain('demo: ')
    }
    expect(still.map((result) => result.isError)).toEqual([false, false])
    await stage.machine.restart()
    const back = await play(web, remote, [
      call('read', { file_path: 'hello.txt' }),
      call('bash', { command: 'pwd', description: 'x' }),
    ])
    expect(back.map((result) => result.isError)).toEqual([false, false])
    expect(back[1]?.text).toBe(`${project}\n`)
  })
})

describe('when the net fails under a call', () => {
  it('a silent machine ends the call with its name, and a cut command has an unknown outcome, never an exit code', async () => {
    const proxy = await startProxy({ host: '127.0.0.1', port: stage.machine.port })
    try {
      const known = join(stage.userHome, 'known_hosts')
      const line = readFileSync(stage.machine.knownHostsFile, 'utf8')
      writeFileSync(known, line.replaceAll(String(stage.machine.port), String(proxy.port)))
      stage.machines({ far: { ...entryOf(stage.machine), port: proxy.port, knownHostsFile: known } })
      const far = await makeWorkspace(web, 'far', project)
      const session = await openSession(web, { workspaceId: far.id ?? '' })

      const cutting = play(web, session, [
        call('bash', { command: 'echo $$ > cut.pid; sleep 4712; echo not reached', description: 'cut' }),
      ])
      await until(async () => (await stage.machine.run('pgrep -fc "^sleep 4712"')).stdout.trim() === '1')
      proxy.reset()
      const [cut] = await cutting
      expect(cut).toMatchObject({ tool: 'bash', isError: true })
      expect(cut?.text).toMatch(/far: the connection was lost while a command ran \(outcome unknown\)/)
      expect(cut?.text).not.toContain('exit code')
      await until(async () => (await stage.machine.run('pgrep -fc "^sleep 4712"')).stdout.trim() === '0')

      await play(web, session, [call('read', { file_path: 'hello.txt' })])
      proxy.freeze()
      const [silent] = await play(web, session, [call('read', { file_path: 'hello.txt' })])
      expect(silent).toMatchObject({ tool: 'read', isError: true })
      expect(silent?.text).toMatch(/far: .*(no answer|nothing came|lost)/)
      proxy.thaw()
      const [again] = await play(web, session, [call('read', { file_path: 'hello.txt' })])
      expect(again?.text).toContain('needle')
    } finally {
      await proxy.close()
      stage.machines()
    }
  })
})

describe('bad input to the panel', () => {
  const refused = async (body: unknown): Promise<unknown> => {
    const answer = await callPanel(web, 'POST', 'workspaces', body)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    return (answer.body as { error: { code: string } }).error.code
  }

  it('is refused with a code of its own, and nothing is made anywhere', async () => {
    const before = await web.rpc('workspace.list', {})
    const markers = filesBelow(join(stage.home.folder, 'presence'))
    expect(await refused({ host: 'nobody', path: '/srv' })).toBe('unknown-machine')
    expect(await refused({ host: 'demo', path: join(project, 'none') })).toBe('not-found')
    expect(await refused({ host: 'demo', path: join(project, 'hello.txt') })).toBe('not-a-directory')
    expect(await refused({ host: 'demo', path: `${project}/../project` })).toBe('bad-path')
    expect(await refused({ host: 'demo', path: '' })).toBe('bad-path')
    expect(await refused({ host: 'demo', path: 'project' })).toBe('bad-path')
    expect(await web.rpc('workspace.list', {})).toEqual(before)
    expect(filesBelow(join(stage.home.folder, 'presence'))).toEqual(markers)
  })

  it('that is not JSON, or comes from another page, never reaches a machine', async () => {
    const post = (headers: Record<string, string>, body: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const sent = request(`${web.url}/api/presence/workspaces`, { method: 'POST', headers }, (answer) => {
          answer.resume()
          resolve(answer.statusCode ?? 0)
        })
        sent.on('error', reject)
        sent.end(body)
      })
    const json = { 'content-type': 'application/json' }
    expect(await post({ 'content-type': 'text/plain' }, '{}')).toBeGreaterThanOrEqual(400)
    expect(await post({ ...json, host: 'evil.example' }, '{}')).toBe(403)
    expect(await post({ ...json, origin: 'http://evil.example' }, '{}')).toBe(403)
    expect(await post(json, JSON.stringify({ host: 'demo', path: project }))).toBe(403)
    const { secret } = (await (await fetch(`${web.url}/api/presence/session`)).json()) as { secret: string }
    expect(await post({ ...json, 'x-presence-secret': secret }, '{"host": ')).toBe(400)
    expect((await fetch(`${web.url}/presence/api/session`)).status).toBe(200)
  })
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50))
}
