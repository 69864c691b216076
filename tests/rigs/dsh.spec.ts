/** The real DSH, driven from outside: its own command line, its own log, its own HTTP calls. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeDshHome, type DshHome } from '../../scripts/host/dsh-home.ts'
import { headlessTurn } from '../../scripts/host/headless.ts'
import { RpcError } from '../../scripts/host/rpc.ts'
import { startWeb } from '../../scripts/host/web.ts'
import { startModel, type ScriptedModel } from '../../scripts/model/server.ts'
import { freshFolder } from './folders.ts'

describe('the real DSH', () => {
  let model: ScriptedModel
  let home: DshHome
  let project: string

  beforeAll(async () => {
    const folder = await freshFolder()
    project = join(folder, 'project')
    await mkdir(project)
    await writeFile(join(project, 'hello.txt'), 'line one\n')
    model = await startModel([])
    home = await makeDshHome({
      folder: join(folder, 'dsh'),
      userHome: folder,
      model: { url: model.url, key: 'none' },
    })
  })
  afterAll(() => model.stop())

  it('runs a headless turn in a folder, and its own log tells what every tool did', async () => {
    model.play([
      { calls: [{ name: 'read', args: { file_path: 'hello.txt' } }] },
      {
        calls: [
          { name: 'bash', args: { command: 'pwd; exit 3', description: 'Show the folder' } },
          { name: 'read', args: { file_path: 'missing.txt' } },
        ],
      },
      { text: 'finished' },
    ])
    const turn = await headlessTurn(home, { cwd: project, prompt: 'go' })
    expect({ code: turn.code, stdout: turn.stdout.trim() }).toEqual({ code: 0, stdout: 'finished' })
    expect(turn.session).toMatchObject({ cwd: project, answer: 'finished' })
    const steps = turn.session?.steps.map(({ tool, args, isError }) => ({ tool, args, isError }))
    expect(steps).toEqual([
      { tool: 'read', args: { file_path: 'hello.txt' }, isError: false },
      { tool: 'bash', args: { command: 'pwd; exit 3', description: 'Show the folder' }, isError: false },
      { tool: 'read', args: { file_path: 'missing.txt' }, isError: true },
    ])
    expect(turn.session?.steps[0]?.text).toContain('1: line one')
    expect(turn.session?.steps[1]?.text).toBe(`${project}\n[exit code: 3]`)
  })

  it('tells sessions apart: a second turn in the same home has its own', async () => {
    model.play([{ text: 'second' }])
    const turn = await headlessTurn(home, { cwd: project, prompt: 'go again' })
    expect(turn.session?.answer).toBe('second')
    expect(turn.session?.steps).toEqual([])
  })

  it('serves the web profile on a free port, answers calls, and is gone after the stop', async () => {
    const web = await startWeb(home)
    expect(await web.rpc('workspace.list')).toHaveProperty('items')
    await expect(web.rpc('workspace.create', { path: '/nowhere/at/all' })).rejects.toBeInstanceOf(RpcError)
    const port = Number(new URL(web.url).port)
    await expect(startWeb(home, { port })).rejects.toThrow(`port ${port} is in use by another program`)
    await web.stop()
    await expect(fetch(web.url)).rejects.toThrow()
  })
})
