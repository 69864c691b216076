import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import { call, filesBelow, setStage, type Stage } from '../support/host.ts'
import { answerApprovals, makeWorkspace, openSession, permit, play, type ToolResult } from '../support/web.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 })

let stage: Stage
let web: WebHost
let session = ''
let project = ''
let count = 0

beforeAll(async () => {
  stage = await setStage({ profile: 'web' })
  web = await startWeb(stage.home)
})
afterAll(async () => {
  await web.stop()
  await stage.stop()
})
beforeEach(async () => {
  project = join(realpathSync(stage.machine.home), `project-${count++}`)
  mkdirSync(join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'hello.txt'), 'line one\nneedle here\nline three\n')
  writeFileSync(join(project, 'src/code.py'), 'needle = 1\nNEEDLE = 2\n')
  const workspace = await makeWorkspace(web, 'demo', project)
  session = await openSession(web, { workspaceId: workspace.id ?? '' })
})

type Args = Readonly<Record<string, unknown>>

/** Calls one after the other in one turn. */
async function run(...calls: readonly (readonly [string, Args])[]): Promise<ToolResult[]> {
  return play(
    web,
    session,
    calls.map(([name, args]) => call(`presence_${name}`, args)),
  )
}

async function one(name: string, args: Args): Promise<ToolResult> {
  const [result] = await run([name, args])
  if (result === undefined) throw new Error(`no result of ${name}`)
  return result
}

/** The text of a call that must have failed. */
async function refused(name: string, args: Args): Promise<string> {
  const { isError, text } = await one(name, args)
  expect(isError, text).toBe(true)
  return text
}

describe('in a session on a machine, without naming it', () => {
  it('all eight work there, each answer names the place, and nothing appears here', async () => {
    const results = await run(
      ['hosts', {}],
      ['hosts', { host: 'demo' }],
      ['list', {}],
      ['read', { path: 'hello.txt' }],
      ['write', { path: 'deep/new.txt', content: 'made\n' }],
      ['edit', { path: 'hello.txt', old_string: 'needle', new_string: 'thread' }],
      ['search', { content: 'needle' }],
      ['exec', { command: 'pwd; cat deep/new.txt' }],
      ['terminal', { action: 'start', command: 'cat', wait_for: 'never', timeout_seconds: 0 }],
    )
    expect(results.map((result) => [result.tool, result.isError])).toEqual(
      ['hosts', 'hosts', 'list', 'read', 'write', 'edit', 'search', 'exec', 'terminal'].map((name) => [
        `presence_${name}`,
        false,
      ]),
    )
    for (const result of results.slice(2)) expect(result.text).toContain(`demo:${project}`)
    const [hosts, facts, list, read, , , search, exec] = results.map((result) => result.text)
    expect(hosts).toContain(`demo: ${stage.machine.user}@127.0.0.1:${stage.machine.port}; ready; workspaces:`)
    expect(facts).toContain(`home ${realpathSync(stage.machine.home)}`)
    expect(facts).toContain('confinement of commands: bwrap')
    expect(list).toBe(`demo:${project}\nhello.txt  32 bytes\nsrc/`)
    expect(read).toContain('\n1: line one\n2: needle here\n3: line three\n(end of file; 3 lines)')
    expect(search).toContain('src/code.py:1: needle = 1')
    expect(exec).toBe(`demo:${project} (exit code 0)\n${project}\nmade`)
    const seen = await stage.machine.run(`cat ${project}/hello.txt`)
    expect(seen.stdout).toBe('line one\nthread here\nline three\n')
    expect(filesBelow(join(stage.home.folder, 'presence/mounts'))).toEqual([])
  })

  it('every spelling of a path means the same file', async () => {
    const marker = stage.marker(project)
    for (const path of [
      'src/code.py',
      './src/../src/code.py',
      join(project, 'src/code.py'),
      join(marker, 'src/code.py'),
    ]) {
      expect((await one('read', { path })).text).toContain(`demo:${project}/src/code.py\n1: needle = 1`)
    }
    expect(await refused('read', { path: '' })).toContain('the path is empty')
    expect(await refused('read', { path: 'none.txt' })).toMatch(/demo:.*none\.txt/)
    expect(await refused('read', { host: 'nowhere', path: '/etc/hostname' })).toContain('nowhere')
  })
})

describe('presence_read', () => {
  it('takes closed ranges of lines from 1 and says what comes next', async () => {
    const read = async (range: Args): Promise<string> =>
      (await one('read', { path: 'hello.txt', ...range })).text
    expect(await read({ start_line: 2, end_line: 2 })).toContain(
      'hello.txt\n2: needle here\n(more lines follow; go on with start_line 3)',
    )
    expect(await read({ start_line: 2, end_line: 99 })).toContain(
      '2: needle here\n3: line three\n(end of file; 3 lines)',
    )
    for (const range of [{ start_line: 0 }, { start_line: 3, end_line: 2 }, { start_line: -1 }]) {
      expect(await refused('read', { path: 'hello.txt', ...range })).toContain('start_line must be 1 or more')
    }
    expect(await refused('read', { path: 'hello.txt', start_line: 9 })).toContain('has 3 lines')
  })

  it('cuts long lines and long files, and refuses what is no text', async () => {
    writeFileSync(join(project, 'long.txt'), `${'x'.repeat(5_000_000)}\nsecond\n`)
    writeFileSync(join(project, 'many.txt'), 'line\n'.repeat(5000))
    writeFileSync(join(project, 'binary'), Buffer.from([1, 0, 2]))
    writeFileSync(join(project, 'empty'), '')
    const long = (await one('read', { path: 'long.txt' })).text
    expect(long).toContain('x… (5000000 characters)\n2: second\n(end of file; 2 lines)')
    expect(long.length).toBeLessThan(4000)
    expect((await one('read', { path: 'many.txt' })).text).toContain('go on with start_line 2001')
    expect((await one('read', { path: 'empty' })).text).toContain('(end of file; 0 lines)')
    expect(await refused('read', { path: 'binary' })).toContain('binary file')
    expect(await refused('read', { path: 'src' })).toMatch(/src.*(director|regular)/)
  })
})

describe('presence_write and presence_edit', () => {
  it('replace only what was read, and say so', async () => {
    expect(await refused('write', { path: 'hello.txt', content: 'gone' })).toMatch(/read/i)
    expect(readFileSync(join(project, 'hello.txt'), 'utf8')).toContain('needle')
    const [, written] = await run(
      ['read', { path: 'hello.txt' }],
      ['write', { path: 'hello.txt', content: 'new\n' }],
    )
    expect(written).toMatchObject({ isError: false, text: `Replaced demo:${project}/hello.txt` })
    writeFileSync(join(project, 'hello.txt'), 'somebody else was here\n')
    expect(await refused('write', { path: 'hello.txt', content: 'mine' })).toMatch(/changed|stale|read/i)
    expect(readFileSync(join(project, 'hello.txt'), 'utf8')).toBe('somebody else was here\n')
  })

  it('change nothing when the number of matches is another than expected', async () => {
    const path = join(project, 'twice.txt')
    writeFileSync(path, 'a b a\n')
    const [, twice, none, both] = await run(
      ['read', { path: 'twice.txt' }],
      ['edit', { path: 'twice.txt', old_string: 'a', new_string: 'c' }],
      ['edit', { path: 'twice.txt', old_string: 'z', new_string: 'c' }],
      ['edit', { path: 'twice.txt', old_string: 'a', new_string: 'c', expected_matches: 2 }],
    )
    expect(twice).toMatchObject({ isError: true })
    expect(twice?.text).toContain('occurs 2 times')
    expect(twice?.text).toContain('expected_matches 2')
    expect(none).toMatchObject({ isError: true })
    expect(both).toMatchObject({ isError: false })
    expect(both?.text).toContain('2 matches replaced')
    expect(readFileSync(path, 'utf8')).toBe('c b c\n')
    for (const expected of [0, -1]) {
      const args = { path: 'twice.txt', old_string: 'c', new_string: 'd', expected_matches: expected }
      expect(await refused('edit', args)).toContain('expected_matches must be 1 or more')
    }
    expect(await refused('edit', { path: 'twice.txt', old_string: 'c', new_string: 'c' })).toContain(
      'are the same',
    )
  })
})

describe('presence_search', () => {
  it('finds by content, by name and by both, whatever the names are', async () => {
    const odd = 'odd "name\' $(x) ü\n.py'
    writeFileSync(join(project, 'src', odd), 'needle in an odd place\n')
    writeFileSync(join(project, '.hidden.py'), 'needle hidden\n')
    const search = async (args: Args): Promise<string> => (await one('search', args)).text
    expect(await search({ content: 'needle' })).not.toContain('.hidden.py')
    const found = await search({ content: 'needle', name: '*.py' })
    expect(found).toContain('src/code.py:1: needle = 1')
    expect(found).toContain(`src/${odd}`.replace('\n', '\\n').replace('"', '\\"'))
    expect(found).not.toContain('hello.txt')
    expect(await search({ content: 'needle', ignore_case: true, path: 'src/code.py' })).toMatch(
      /:1: needle = 1\n.*:2: NEEDLE = 2/,
    )
    expect(await search({ name: '*.py' })).toContain('.hidden.py')
    expect(await search({ name: 'src/*.py', limit: 1 })).toContain(
      '(there are more than 1; narrow the search or raise limit)',
    )
    expect(await search({ content: 'not there at all' })).toContain('no match')
    expect(await search({ content: '-e', name: '*.txt' })).toContain('no match')
  })

  it('gives the first of many, in order, and stops there', async () => {
    writeFileSync(
      join(project, 'many.txt'),
      Array.from({ length: 400_000 }, (_, at) => `hit line ${at}\n`).join(''),
    )
    const { text } = await one('search', { content: 'hit line', limit: 3 })
    expect(text).toBe(
      `demo:${project} (by ripgrep)\nmany.txt:1: hit line 0\nmany.txt:2: hit line 1\nmany.txt:3: hit line 2\n` +
        '(there are more than 3; narrow the search or raise limit)',
    )
  })

  it('finds what can be read beside what cannot, and says so', async () => {
    const args = { path: '/proc/self', name: '{status,mem}' }
    const { text } = await one('search', { content: '^Name:', ...args })
    expect(text).toMatch(/\/proc\/self\/status:1: Name:|^status:1: Name:/m)
    expect(text).toContain('[not everything could be searched: ')
    expect((await one('search', { content: 'not there at all', ...args })).text).toContain('\nno match\n[not')
  })

  it('of one file takes no name, which would not be looked at', async () => {
    expect(await refused('search', { content: 'needle', path: 'hello.txt', name: '*.py' })).toContain(
      'leave name out, or give a folder',
    )
  })

  it('explains what it cannot do', async () => {
    expect(await refused('search', {})).toContain('give content, name, or both')
    expect(await refused('search', { content: '' })).toContain('give content, name, or both')
    expect(await refused('search', { content: '(' })).toContain('ripgrep failed: ')
    expect(await refused('search', { content: 'x', path: 'none' })).toContain('none does not exist there')
  })
})

describe('presence_exec', () => {
  it('C63: tells exit, both streams and a time-out, and finds its input empty', async () => {
    expect((await one('exec', { command: 'cat; echo out; echo err >&2; exit 3', workdir: 'src' })).text).toBe(
      `demo:${project}/src (exit code 3)\nout\n[stderr]\nerr`,
    )
    const late = await one('exec', { command: 'echo begun; sleep 4713', timeout_seconds: 1 })
    expect(late.text).toMatch(/begun[\s\S]*\[ended after 1 s;/)
    expect((await stage.machine.run('pgrep -fc "^sleep 4713"')).stdout.trim()).toBe('0')
    expect(await refused('exec', { command: 'true', workdir: 'none' })).toContain('does not exist')
  })

  it('keeps 100 MB of output within bounds and in memory', async () => {
    const { text } = await one('exec', {
      command: 'echo FIRST; head -c 100000000 /dev/zero | tr "\\0" x; echo; echo LAST',
    })
    expect(text.length).toBeLessThan(40_000)
    expect(text).toMatch(/\nFIRST\n[\s\S]*bytes left out …\n[\s\S]*LAST\n/)
    expect(text).toContain('send it to a file on demo and read that in parts')
  })

  it('ends on the machine when the turn is cancelled', async () => {
    const cancelled = play(web, session, [call('presence_exec', { command: 'sleep 4714' })])
    await until(async () => (await stage.machine.run('pgrep -fc "^sleep 4714"')).stdout.trim() === '1')
    await web.rpc('session.cancel', { sessionId: session })
    const [told] = await cancelled
    expect(told?.text).toMatch(/cancel|abort/i)
    expect(told?.text).not.toContain('[object')
    await until(async () => (await stage.machine.run('pgrep -fc "^sleep 4714"')).stdout.trim() === '0')
  })
})

describe('the session’s sandbox mode', () => {
  const outside = (): string => join(realpathSync(stage.machine.home), `outside-${count}.txt`)

  it('keeps changes inside the workspace, and offers the host’s escalation', async () => {
    for (const [name, args] of [
      ['write', { path: outside(), content: 'x' }],
      ['write', { path: '../up.txt', content: 'x' }],
    ] as const) {
      const text = await refused(name, args)
      expect(text).toContain('[sandbox: file access denied under workspace-write mode]')
      expect(text).toContain('[sandbox: escalation available')
    }
    const denied = await one('exec', { command: `echo x > ${outside()}` })
    expect(denied.text).toMatch(/Read-only file system[\s\S]*\[sandbox: escalation available/)
    expect(existsSync(outside())).toBe(false)
  })

  it('C67: asks the person with the host’s own request, and obeys the answer', async () => {
    const wider = { sandbox_permissions: 'danger-full-access', justification: 'The file belongs there.' }
    const yes = await answerApprovals(web, 'allowed-once')
    try {
      expect(await one('write', { path: outside(), content: 'allowed\n', ...wider })).toMatchObject({
        isError: false,
      })
      expect(readFileSync(outside(), 'utf8')).toBe('allowed\n')
      expect(yes.asked).toHaveLength(1)
      expect(yes.asked[0]).toMatchObject({ toolName: 'presence_write' })
      expect(yes.asked[0]?.reason).toContain('The file belongs there.')
      expect((await one('exec', { command: `rm ${outside()}`, ...wider })).text).toContain('exit code 0')
      // The next call is confined again.
      expect(await refused('write', { path: outside(), content: 'x' })).toContain('file access denied')
    } finally {
      yes.close()
    }
    const no = await answerApprovals(web, 'rejected')
    try {
      expect(await refused('write', { path: outside(), content: 'x', ...wider })).toMatch(
        /reject|denied|declin/i,
      )
    } finally {
      no.close()
    }
    expect(
      await refused('write', { path: 'x', content: 'x', sandbox_permissions: 'danger-full-access' }),
    ).toMatch(/justification/)
    expect(existsSync(outside())).toBe(false)
  })

  it('read-only changes nothing, and what it can still do works', async () => {
    await permit(web, session, 'read-only')
    expect(await refused('write', { path: 'x.txt', content: 'x' })).toContain('denied under read-only mode')
    const [, edited] = await run(
      ['read', { path: 'hello.txt' }],
      ['edit', { path: 'hello.txt', old_string: 'needle', new_string: 'x' }],
    )
    expect(edited?.text).toContain('denied under read-only mode')
    expect((await one('exec', { command: 'touch x.txt' })).text).toContain('Read-only file system')
    expect((await one('exec', { command: 'cat hello.txt' })).text).toContain('needle here')
    const [, typed] = await run(
      ['terminal', { action: 'start', command: 'sh' }],
      ['terminal', { action: 'write', text: 'touch x.txt' }],
    )
    expect(typed?.text).toContain('Read-only file system')
    expect(existsSync(join(project, 'x.txt'))).toBe(false)
  })
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50))
}
