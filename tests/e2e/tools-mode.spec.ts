import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import { call, setStage, type Stage } from '../support/host.ts'
import { callPanel, makeWorkspace, openSession, play } from '../support/web.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 })

let stage: Stage
let web: WebHost
let project = ''
let local = ''

beforeAll(async () => {
  stage = await setStage({ profile: 'web', presence: 'tools' })
  web = await startWeb(stage.home)
  project = join(realpathSync(stage.machine.home), 'project')
  local = join(stage.userHome, 'local')
  for (const folder of [project, local]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(project, 'f.txt'), 'there\n')
  writeFileSync(join(local, 'f.txt'), 'here\n')
})
afterAll(async () => {
  await web.stop()
  await stage.stop()
})

it('without the seams a local session reaches machines by our tools, and is as ever by the host’s', async () => {
  const results = await play(web, await openSession(web, { cwd: local }), [
    call('read', { file_path: 'f.txt' }),
    call('bash', { command: 'cat f.txt', description: 'x' }),
    call('presence_read', { host: 'demo', path: join(project, 'f.txt') }),
    call('presence_exec', { host: 'demo', command: 'cat f.txt', workdir: project }),
    call('presence_exec', { command: 'pwd' }),
    call('presence_exec', { host: 'demo', command: 'pwd' }),
  ])
  expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false, true, true])
  const [read, bash, ours, exec, unnamed, folderless] = results.map(({ text }) => text)
  expect(read).toContain('here')
  expect(bash).toBe('here\n')
  expect(ours).toContain('1: there')
  expect(exec).toContain('there')
  expect(unnamed).toContain('Give host (known: demo) and an absolute path')
  expect(folderless).toContain('Give an absolute path')
})

it('a workspace is one for our tools only: the host hears of none that it would work in wrongly', async () => {
  const workspace = await makeWorkspace(web, 'demo', project)
  expect(workspace.id).toBeUndefined()
  expect(await web.rpc('workspace.list', {})).toMatchObject({ items: [] })
  const change = { activate: workspace.marker }
  expect(await callPanel(web, 'POST', 'workspaces', change)).toMatchObject({ status: 200 })
  const session = await openSession(web, { cwd: local })
  const [there, here] = await play(web, session, [
    call('presence_read', { path: 'f.txt' }),
    call('read', { file_path: 'f.txt' }),
  ])
  expect(there?.text).toContain('1: there')
  expect(here?.text).toContain('here')
})

it('in a session of the other mode the host’s tools are denied: they would act on this computer', async () => {
  const marker = stage.marker(project)
  const session = await openSession(web, { cwd: marker })
  const denied = [
    call('read', { file_path: 'f.txt' }),
    call('write', { file_path: 'new.txt', content: 'x' }),
    call('bash', { command: 'touch new.txt', description: 'x' }),
    call('grep', { pattern: 'x' }),
    call('glob', { pattern: '*' }),
  ]
  const results = await play(web, session, [...denied, call('presence_read', { path: 'f.txt' })])
  for (const result of results.slice(0, -1)) {
    expect(result.isError, result.tool).toBe(true)
    expect(result.text).toContain('would act on the local computer. Use the presence_* tools')
  }
  expect(results.at(-1)?.text).toContain('1: there')
  expect(readdirSync(marker)).toEqual([])
  const told = JSON.stringify(stage.model.requests)
  expect(told).toContain('Only the presence_* tools act there')
  expect(told).not.toContain('All tools act there')
})
