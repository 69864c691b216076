import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import { textOf } from '../../scripts/model/script.ts'
import { call, setStage, type Stage } from '../support/host.ts'
import { makeWorkspace, openSession, play } from '../support/web.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 })

let stage: Stage
let web: WebHost
let project = ''

beforeAll(async () => {
  stage = await setStage({ profile: 'web' })
  web = await startWeb(stage.home)
  project = join(realpathSync(stage.machine.home), 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'f.txt'), 'content\n')
})
afterAll(async () => {
  await web.stop()
  await stage.stop()
})

const look = [call('read', { file_path: 'f.txt' }), call('bash', { command: 'pwd', description: 'x' })]

/** What the model's last request has of ours, one text for each time it was told. */
function told(): string[] {
  const messages = stage.model.requests.at(-1)?.messages ?? []
  return messages.flatMap(
    (message) => /This session works on[\s\S]*?\.\n?(?=\n\n|$)/.exec(textOf(message))?.[0] ?? [],
  )
}

it('tells the machine, both spellings and what it can do, once, in few tokens', async () => {
  const workspace = await makeWorkspace(web, 'demo', project)
  const session = await openSession(web, { workspaceId: workspace.id ?? '' })
  await play(web, session, look)
  await play(web, session, look)
  const [text = '', ...again] = told()
  expect(again).toEqual([])
  for (const fact of [
    '"demo"',
    project,
    workspace.marker,
    'Search engine: ripgrep',
    'bubblewrap',
    'Link: connected; Linux, user ',
  ]) {
    expect(text).toContain(fact)
  }
  // The paths of this rig are longer than most.
  const paths = countTokens(project) + countTokens(workspace.marker)
  expect(countTokens(text) - paths).toBeLessThan(100)
})

it('says when the line is lost, and nothing more while it stays so', async () => {
  const workspace = await makeWorkspace(web, 'demo', project)
  const session = await openSession(web, { workspaceId: workspace.id ?? '' })
  await play(web, session, look)
  await stage.machine.stop()
  await play(web, session, look)
  await play(web, session, look)
  expect(told()).toHaveLength(2)
  expect(told()[1]).toContain('Link: not connected.')
  await stage.machine.restart()
})

it('is absent from local sessions', async () => {
  const local = join(stage.userHome, 'local')
  mkdirSync(local, { recursive: true })
  const before = stage.model.requests.length
  await play(web, await openSession(web, { cwd: local }), look)
  const sent = JSON.stringify(stage.model.requests.slice(before)).replaceAll(stage.userHome, '')
  expect(/presence_|presence\/|remote machine/i.exec(sent)).toBeNull()
})
