import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import type { Step } from '../../scripts/model/script.ts'
import type { WorkspaceView } from '../../src/wire/api.ts'
import { call, entryOf, filesBelow, setStage, type Stage } from '../support/host.ts'
import { startTwins, type Twins } from '../support/twins.ts'
import { callPanel, makeWorkspace, openSession, permit, play, type ToolResult } from '../support/web.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let stage: Stage
let twins: Twins
let web: WebHost
let project = ''
let one: DemoMachine
let two: DemoMachine

/** Both machines and this computer have the project's folder; each its own. */
beforeAll(async () => {
  ;[stage, twins] = await Promise.all([setStage({ profile: 'web' }), startTwins(['one', 'two'])])
  ;[one, two] = twins.machines as [DemoMachine, DemoMachine]
  project = join(twins.shared, 'project')
  mkdirSync(project)
  for (const machine of twins.machines) {
    await machine.run(`mkdir ${project} && uname -n > ${project}/name.txt`)
  }
  knownMachines()
  web = await startWeb(stage.home)
})
afterAll(async () => {
  await web.stop()
  await twins.stop()
  await stage.stop()
})

function knownMachines(names: readonly string[] = ['one', 'two']): void {
  const known = twins.machines.filter(({ alias }) => names.includes(alias))
  stage.machines(Object.fromEntries(known.map((machine) => [machine.alias, entryOf(machine)])))
}

async function workspaceOn(machine: DemoMachine, path = project): Promise<WorkspaceView> {
  return makeWorkspace(web, machine.alias, path)
}

async function sessionOn(machine: DemoMachine): Promise<string> {
  return openSession(web, { workspaceId: (await workspaceOn(machine)).id ?? '' })
}

/** Nothing ever appears on this computer: not under the same path, not under a marker. */
function nothingHere(): void {
  expect(readdirSync(project)).toEqual([])
  expect(filesBelow(join(stage.home.folder, 'presence/mounts'))).toEqual([])
}

/** Every tool once, its arguments and what it leaves behind naming the round. */
function round(index: number): Step[] {
  const file = `round-${index}.txt`
  const absolute = join(project, file)
  return [
    {
      calls: [
        { name: 'bash', args: { command: 'uname -n', description: 'where' } },
        { name: 'read', args: { file_path: 'name.txt' } },
        { name: 'presence_exec', args: { command: 'uname -n' } },
        { name: 'presence_read', args: { path: join(project, 'name.txt') } },
        { name: 'grep', args: { pattern: '.', path: join(project, 'name.txt') } },
      ],
    },
    call('write', { file_path: index % 2 === 0 ? file : absolute, content: `made in round ${index}\n` }),
    call('presence_edit', { path: absolute, old_string: 'made', new_string: 'changed' }),
    call('presence_search', { content: 'changed', name: file }),
    call('edit', { file_path: file, old_string: 'changed', new_string: 'done' }),
    call('bash', { command: `uname -n >> ${absolute}; cat ${file}`, description: 'sign' }),
  ]
}

describe('two machines with the same paths', () => {
  it('C09: keep two sessions apart through 200 calls that run at the same time', async () => {
    const sessions = await Promise.all([sessionOn(one), sessionOn(two)])
    const rounds = 10
    const played = await Promise.all(
      sessions.map(async (session) => {
        const results: ToolResult[] = []
        for (let index = 0; index < rounds; index += 2) {
          results.push(...(await play(web, session, [...round(index), ...round(index + 1)])))
        }
        return results
      }),
    )
    expect(played.flat()).toHaveLength(200)
    for (const [at, machine] of twins.machines.entries()) {
      const results = played[at] ?? []
      expect(results.filter((result) => result.isError)).toEqual([])
      const other = machine === one ? 'two' : 'one'
      for (const result of results) expect(result.text).not.toMatch(new RegExp(`^${other}$`, 'm'))
      const named = results.filter((result) => new RegExp(`(^|[ :])${machine.alias}$`, 'm').test(result.text))
      // All but the answers that only confirm a change.
      expect(named.length).toBeGreaterThanOrEqual(rounds * 6)
      const files = await machine.run(`cd ${project} && for f in round-*; do cat $f; done | sort | uniq -c`)
      const lines = files.stdout.split('\n').map((line) => line.trim())
      for (let index = 0; index < rounds; index += 1) expect(lines).toContain(`1 done in round ${index}`)
      expect(lines).toContain(`${rounds} ${machine.alias}`)
    }
    nothingHere()
  })

  it('F68: are not mixed up by a path of the other one: it is refused, or goes where it says', async () => {
    const session = await sessionOn(one)
    const marker = (await workspaceOn(two)).marker
    const [read, exec, presence, other] = await play(web, session, [
      call('read', { file_path: join(marker, 'name.txt') }),
      call('bash', { command: `cat ${marker}/name.txt`, description: 'x' }),
      call('presence_read', { path: join(marker, 'name.txt') }),
      call('presence_read', { host: 'two', path: join(project, 'name.txt') }),
    ])
    if (read?.isError === false) expect(read.text).toContain('two')
    expect(exec?.text).toContain('two')
    expect(exec?.isError).toBe(true)
    expect(presence?.isError).toBe(true)
    expect(presence?.text).toContain('give host "two"')
    expect(other?.text).toMatch(/^two:.*\n1: two$/m)
  })
})

describe('places of the host in a session on a machine', () => {
  it('what is too long to show is read and searched on this computer, where it lies', async () => {
    const session = await sessionOn(one)
    const [long] = await play(web, session, [
      call('bash', { command: 'seq -f "line %.0f" 20000', description: 'long' }),
    ])
    const [, output = ''] = /full output: ([^\]\s]+)/.exec(long?.text ?? '') ?? []
    // The machine has no such file: what is found there is found nowhere else.
    expect((await one.run(`ls '${output}'`)).code).not.toBe(0)
    const [read, grep] = await play(web, session, [
      call('read', { file_path: output, limit: 2 }),
      call('grep', { pattern: '^line 1000$', path: output }),
    ])
    expect(read?.text).toContain('1: line 1\n2: line 2\n')
    expect(grep?.text).toContain('Line 1000: line 1000')
    nothingHere()
  })

  it.each(['danger-full-access', 'workspace-write'] as const)(
    'no command runs in them, in %s: neither here nor there',
    async (mode) => {
      const session = await sessionOn(one)
      await permit(web, session, mode)
      const { marker } = await workspaceOn(one)
      const folders = [stage.home.folder, join(stage.home.folder, 'sessions'), `${marker}${'/..'.repeat(99)}`]
      const results = await play(
        web,
        session,
        folders.map((workdir) =>
          call('bash', { command: 'uname -n; touch ran-here', workdir, description: 'where' }),
        ),
      )
      for (const { isError, text } of results.slice(0, 2)) {
        expect(isError, text).toBe(true)
        expect(text).toContain('is on the local computer')
      }
      // Upward from the folder it is the machine's root.
      expect(results[2]?.text).toMatch(/^one$/m)
      expect(existsSync(join(stage.home.folder, 'ran-here'))).toBe(false)
    },
  )
})

describe('sessions that come from others', () => {
  it('C10: a sub-agent, a fork, and a session taken up again by a new host work on their machine', async () => {
    const session = await sessionOn(two)
    const look = [
      call('bash', { command: 'uname -n', description: 'where' }),
      call('presence_exec', { command: 'uname -n' }),
    ]
    const names = async (id: string): Promise<string[]> =>
      (await play(web, id, look)).map(({ text }) => text.trim().split('\n').at(-1) ?? '')
    const prompt = `SCRIPT: ${JSON.stringify([
      call('bash', { command: 'uname -n > by-sub-agent.txt', description: 'sign' }),
      call('presence_exec', { command: 'uname -n >> by-sub-agent.txt' }),
      { text: 'sub-agent done' },
    ])}`
    const [delegated] = await play(web, session, [
      call('subagent', { description: 'sign a file', prompt, run_in_background: false }),
    ])
    expect(delegated?.isError, delegated?.text).toBe(false)
    expect((await two.run(`cat ${project}/by-sub-agent.txt`)).stdout).toBe('two\ntwo\n')

    const fork = await web.rpc<{ sessionId: string }>('session.fork', { sessionId: session })
    expect(await names(fork.sessionId)).toEqual(['two', 'two'])

    await web.stop()
    web = await startWeb(stage.home)
    expect(await names(session)).toEqual(['two', 'two'])
    expect(await names(fork.sessionId)).toEqual(['two', 'two'])
    nothingHere()
  })
})

describe('a session whose place changes under it', () => {
  const everything = [
    call('read', { file_path: 'name.txt' }),
    call('write', { file_path: 'late.txt', content: 'late\n' }),
    call('bash', { command: 'uname -n > late.txt', description: 'x' }),
    call('grep', { pattern: '.' }),
    call('glob', { pattern: '*' }),
    call('presence_exec', { command: 'uname -n > late.txt' }),
    call('presence_read', { path: 'name.txt' }),
  ]

  it('goes on there when its workspace is removed from the list', async () => {
    const session = await sessionOn(one)
    await callPanel(web, 'DELETE', 'workspaces', { host: 'one', path: project })
    const results = await play(web, session, everything)
    for (const result of results) {
      if (result.isError) expect(result.text, result.tool).toContain('one')
    }
    expect(results[0]?.text).toContain('1: one')
    nothingHere()
  })

  it('C03: is refused everything when its machine has no such name any more, and goes on when it has', async () => {
    const session = await sessionOn(one)
    await play(web, session, [call('read', { file_path: 'name.txt' })])
    // A current workspace on another machine is no way out of it.
    await callPanel(web, 'POST', 'workspaces', { activate: (await workspaceOn(two)).id })
    await one.run(`rm -f ${project}/late.txt`)
    knownMachines(['two'])
    try {
      // What is known of machines is read again within a second.
      await new Promise((resolve) => setTimeout(resolve, 1500))
      for (const result of await play(web, session, everything)) {
        expect(result.isError, `${result.tool}: ${result.text}`).toBe(true)
        expect(result.text, result.tool).toContain('one')
        // No talk of what else may be wrong, and no way to wider permissions: the machine is not known.
        expect(result.text, result.tool).not.toMatch(/sandbox backend|danger-full-access/)
      }
    } finally {
      knownMachines()
    }
    expect((await one.run(`ls ${project}/late.txt`)).code).not.toBe(0)
    nothingHere()
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const [read] = await play(web, session, [call('read', { file_path: 'name.txt' })])
    expect(read?.text).toContain('1: one')
  })
})

it('a local session in the folder of the mounts changes nothing in it', async () => {
  const mounts = join(stage.home.folder, 'presence/mounts')
  const local = await openSession(web, { cwd: mounts })
  const results = await play(web, local, [
    call('bash', { command: `echo x > stray.txt; echo y > one${project}/stray.txt`, description: 'Write' }),
    call('write', { file_path: 'stray.txt', content: 'x' }),
  ])
  for (const result of results) expect(result.isError, `${result.tool}: ${result.text}`).toBe(true)
  expect(results[0]?.text).toContain('stands for all machines')
  nothingHere()
})

it('a search in a local session of what is on a machine is refused instead of finding nothing', async () => {
  const local = await openSession(web, { cwd: stage.userHome })
  const marker = stage.marker(project)
  const [grep, glob] = await play(web, local, [
    call('grep', { pattern: 'one', path: marker }),
    call('glob', { pattern: '**/*.txt', path: marker }),
  ])
  for (const result of [grep, glob]) {
    expect(result?.isError, result?.text).toBe(true)
    expect(result?.text).toContain('is on the machine')
  }
  nothingHere()
})

describe('the current workspace in a local session', () => {
  const make = async (machine: DemoMachine): Promise<void> => {
    const { id } = await workspaceOn(machine)
    await callPanel(web, 'POST', 'workspaces', { activate: id })
  }
  const clear = async (): Promise<void> => {
    for (const machine of twins.machines) {
      await callPanel(web, 'DELETE', 'workspaces', { host: machine.alias, path: project })
    }
  }

  it('decides where our tools go, from call to call; the host’s own tools stay here', async () => {
    const local = join(stage.userHome, 'here')
    rmSync(local, { recursive: true, force: true })
    mkdirSync(local)
    writeFileSync(join(local, 'name.txt'), 'here\n')
    await clear()
    const session = await openSession(web, { cwd: local })
    const look = [
      call('presence_exec', { command: 'uname -n' }),
      call('presence_read', { path: 'name.txt' }),
      call('read', { file_path: 'name.txt' }),
      call('presence_read', { host: 'two', path: join(project, 'name.txt') }),
    ]
    const ends = async (): Promise<(string | undefined)[]> =>
      (await play(web, session, look)).map(
        ({ text }) => /^(?:\d+: )?(one|two|here|.*unknown tool.*)$/im.exec(text)?.[1],
      )
    expect(await ends()).toEqual([
      expect.stringContaining('unknown tool'),
      expect.stringContaining('unknown tool'),
      'here',
      expect.stringContaining('unknown tool'),
    ])
    await make(one)
    expect(await ends()).toEqual(['one', 'one', 'here', 'two'])
    await make(two)
    expect(await ends()).toEqual(['two', 'two', 'here', 'two'])

    const remote = await sessionOn(one)
    const [there] = await play(web, remote, [call('presence_read', { path: 'name.txt' })])
    expect(there?.text).toContain('1: one')

    const [relative, unknown] = await play(web, session, [
      call('presence_read', { host: 'one', path: 'name.txt' }),
      call('presence_read', { host: 'nowhere', path: '/etc/hostname' }),
    ])
    expect(relative).toMatchObject({ isError: true })
    expect(relative?.text).toContain('Give an absolute path')
    expect(unknown).toMatchObject({ isError: true })
    expect(unknown?.text).toContain('nowhere')

    await clear()
    expect((await ends())[0]).toContain('unknown tool')
    nothingHere()
  })
})
