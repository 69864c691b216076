import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import { call, setStage, type Stage } from '../support/host.ts'
import { answerApprovals, makeWorkspace, openSession, permit, play } from '../support/web.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 })

let stage: Stage
let web: WebHost
let session = ''
let project = ''

beforeAll(async () => {
  stage = await setStage({ profile: 'web' })
  web = await startWeb(stage.home)
  project = join(realpathSync(stage.machine.home), 'project')
  mkdirSync(project)
})
afterAll(async () => {
  await web.stop()
  await stage.stop()
})
beforeEach(async () => {
  const workspace = await makeWorkspace(web, 'demo', project)
  session = await openSession(web, { workspaceId: workspace.id ?? '' })
})

type Args = Readonly<Record<string, unknown>>

/** One call a turn: what stands between two calls is a whole turn of the agent. */
async function terminal(action: string, args: Args = {}): Promise<string> {
  const [result] = await play(web, session, [call('presence_terminal', { action, ...args })])
  expect(result?.isError, result?.text).toBe(false)
  return result?.text ?? ''
}

async function refused(action: string, args: Args = {}): Promise<string> {
  const [result] = await play(web, session, [call('presence_terminal', { action, ...args })])
  expect(result?.isError, result?.text).toBe(true)
  return result?.text ?? ''
}

const processes = async (pattern: string): Promise<string> =>
  (await stage.machine.run(`pgrep -fc '${pattern}'`)).stdout.trim()

describe('presence_terminal through several calls', () => {
  it('drives a REPL that keeps its state', async () => {
    expect(await terminal('start', { command: 'python3 -q', wait_for: '>>> ' })).toBe(
      `terminal "main" (python3 -q) in demo:${project}: waits for input\n>>> `,
    )
    await terminal('write', { text: 'import os; kept = 6 * 7', wait_for: '>>> ' })
    const answer = await terminal('write', { text: 'print(kept, os.getcwd())', wait_for: '>>> ' })
    expect(answer).toContain(`\n42 ${project}\n>>>`)
    await terminal('write', { text: 'for i in range(2):\n  print(i)\n', wait_for: '1\n>>> ' })
    expect(await terminal('write', { text: 'exit(5)' })).toContain('ended with exit code 5')
    expect(await refused('write', { text: 'x' })).toContain('has ended (ended with exit code 5)')
    expect(await terminal('list')).toContain('ended with exit code 5')
  })

  it('drives a pager by its keys', async () => {
    writeFileSync(
      join(project, 'long.txt'),
      Array.from({ length: 200 }, (_, line) => `line ${line + 1}`).join('\n'),
    )
    const first = await terminal('start', { command: 'less long.txt', rows: 10, cols: 40 })
    expect(first).toContain('line 9')
    expect(first).not.toContain('line 10')
    const second = await terminal('write', { text: ' ', key: 'none' })
    expect(second).toContain('line 18')
    expect(await terminal('write', { text: 'G', key: 'none' })).toContain('line 200')
    expect(await terminal('write', { key: 'up' })).toContain('line 191')
    expect(await terminal('write', { text: 'q', key: 'none' })).toContain('ended with exit code 0')
  })

  it('F65: answers a prompt for input, also a hidden one', async () => {
    const script = `printf 'Name? '; read -r name; printf 'Secret? '; stty -echo; read -r secret; stty echo; echo; echo "hello $name, \${#secret} letters"`
    const asked = await terminal('start', { command: script, wait_for: 'Name? ' })
    expect(asked).toMatch(/: waits for input\nName\? $/)
    expect(await terminal('write', { text: 'Ada', wait_for: 'Secret? ' })).toContain('Secret? ')
    const last = await terminal('write', { text: 'hush' })
    expect(last).toContain('hello Ada, 4 letters')
    expect(last).not.toContain('hush')
  })

  it('keeps several by name, in a shell by default, and each in its folder', async () => {
    mkdirSync(join(project, 'sub'), { recursive: true })
    await terminal('start', { name: 'one' })
    await terminal('start', { name: 'two', workdir: 'sub', command: 'sh' })
    await terminal('write', { name: 'one', text: 'where=$PWD' })
    expect(await terminal('write', { name: 'two', text: 'echo "in $PWD"' })).toContain(`in ${project}/sub\n`)
    expect(await terminal('write', { name: 'one', text: 'echo "in $where"' })).toContain(`in ${project}\n`)
    expect(await terminal('list')).toMatch(/terminal "one" .*\nterminal "two" /)
    expect(await refused('start', { name: 'one' })).toContain('open already')
    await terminal('close', { name: 'one' })
    expect(await refused('read', { name: 'one' })).toContain('there is no terminal "one" (open: "two")')
  })

  it('interrupts, resizes, and closes with everything that runs in it', async () => {
    await terminal('start', { command: 'sh' })
    await terminal('resize', { rows: 12, cols: 34 })
    expect(await terminal('write', { text: 'stty size' })).toContain('\n12 34\n')
    await terminal('write', { text: 'sleep 4721', quiet_ms: 100 })
    expect(await processes('^sleep 4721')).toBe('1')
    expect(await terminal('signal')).toContain('SIGINT sent to process group')
    expect(await processes('^sleep 4721')).toBe('0')
    await terminal('write', { text: 'sleep 4722', quiet_ms: 100 })
    await terminal('write', { key: 'ctrl-c' })
    expect(await processes('^sleep 4722')).toBe('0')
    await terminal('write', { text: '(sleep 4723 & sleep 4723 & wait)', quiet_ms: 100 })
    expect(await terminal('close')).toContain('closed "main" on demo')
    expect(await processes('^sleep 4723')).toBe('0')
  })

  it('interrupts a program that goes on after it, by a signal and by the keys, confined or not', async () => {
    for (const mode of ['workspace-write', 'danger-full-access'] as const) {
      await permit(web, session, mode)
      await terminal('start', { command: 'python3 -q', wait_for: '>>> ' })
      await terminal('write', { text: 'import time; time.sleep(100)', quiet_ms: 300 })
      expect(await terminal('signal', { wait_for: '>>> ' })).toContain('KeyboardInterrupt')
      await terminal('write', { text: 'time.sleep(100)', quiet_ms: 300 })
      expect(await terminal('write', { key: 'ctrl-c', wait_for: '>>> ' })).toContain('KeyboardInterrupt')
      // Nothing could bring a stopped program back: it goes on.
      await terminal('write', { key: 'ctrl-z', quiet_ms: 300 })
      expect(await terminal('write', { text: 'print(6 * 7)', wait_for: '42' })).toContain('42')
      expect(await terminal('write', { text: 'exit(5)' })).toContain('ended with exit code 5')
    }
  })

  it('waits for a marker that comes late, and hands over at the time-out what is there', async () => {
    await terminal('start', { command: 'sh' })
    const late = await terminal('write', { text: 'echo a; sleep 2; echo "rea""dy"', wait_for: 'ready\n' })
    expect(late).toContain('a\nready')
    const early = await terminal('write', {
      text: 'echo b; sleep 3; echo c',
      wait_for: 'never comes',
      timeout_seconds: 1,
    })
    expect(early).toContain('the wait was over')
    expect(early).toContain('\nb')
    expect(await terminal('read', { wait_for: 'c\n' })).toMatch(/\nc\n/)
  })

  it('keeps what is newest of very long output and says what is missing', async () => {
    await terminal('start', { command: 'sh' })
    const text = await terminal('write', {
      text: 'head -c 3000000 /dev/zero | tr "\\0" x; echo; echo "LA""ST"',
      wait_for: 'LAST\n',
      timeout_seconds: 60,
    })
    expect(text).toMatch(/… \d+ earlier characters were not kept …/)
    expect(text).toContain('characters left out')
    expect(text).toContain('LAST')
    expect(text.length).toBeLessThan(40_000)
  })

  it('answers by the time-out also while a program floods it, and ends that program', async () => {
    const flooded = await terminal('start', { command: 'sh -c "yes; echo $?"', timeout_seconds: 1 })
    expect(flooded).toContain('\ny\ny\n')
    expect(await terminal('read', { timeout_seconds: 1 })).toContain('\ny\ny\n')
    expect(await terminal('write', { key: 'ctrl-c', timeout_seconds: 20 })).toMatch(
      /ended (by SIGINT|with exit code)/,
    )
    expect(await processes('^yes$')).toBe('0')
  })

  it('shows what a person would see of overwriting, colours and half characters', async () => {
    await terminal('start', { command: 'stty -echo; exec sh' })
    const shown = await terminal('write', {
      text: `printf '10%%\\r100%%\\n\\033[31mred\\033[0m abd\\bc\\303'; sleep 0.3; printf '\\274 end\\n'`,
      wait_for: 'end\n',
    })
    expect(shown).toContain('100%\nred abc')
    expect(shown).toContain('ü end')
    expect(shown).not.toContain('10%\n')
    expect(shown).not.toContain('\u001b')
  })
})

describe('a terminal that is gone', () => {
  it('is told apart: never there, ended, lost with its machine; and others can be started', async () => {
    expect(await refused('read')).toContain(
      'there is no terminal "main" (none is open). Begin with action start',
    )
    expect(await refused('start', { command: 'true', workdir: 'none' })).toContain('does not exist there')
    await terminal('start', { command: 'sh' })
    await stage.machine.stop()
    expect(await terminal('read', { timeout_seconds: 20 })).toMatch(/lost: demo: /)
    expect(await refused('write', { text: 'x' })).toMatch(/has ended \(lost: demo: /)
    expect(await refused('start', { name: 'other', command: 'sh' })).toContain('demo: ')
    await stage.machine.restart()
    expect(await terminal('start', { command: 'sh' })).toContain('terminal "main"')
  })

  it('ends with the host', async () => {
    await terminal('start', { command: 'sleep 4731' })
    expect(await processes('^sleep 4731')).toBe('1')
    await web.stop()
    expect(await processes('^sleep 4731')).toBe('0')
    web = await startWeb(stage.home)
  })
})

describe('a terminal’s sandbox mode', () => {
  it('is asked for anew by each text when it is wider than the session’s', async () => {
    const wider = { sandbox_permissions: 'danger-full-access', justification: 'A tool needs it.' }
    const person = await answerApprovals(web, 'allowed-once')
    try {
      await terminal('start', { command: 'sh', ...wider })
      expect(await refused('write', { text: 'true' })).toContain('runs under danger-full-access mode')
      expect(await terminal('write', { text: 'echo "ok""ay"', ...wider })).toContain('okay')
      expect(person.asked).toHaveLength(2)
    } finally {
      person.close()
    }
    await permit(web, session, 'danger-full-access')
    expect(await terminal('write', { text: 'echo "aga""in"' })).toContain('again')
  })
})
