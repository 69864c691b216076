/** DSH's own tools in a session whose folder is on a machine: in one host, where a profile makes no difference. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import type { Step } from '../../scripts/model/script.ts'
import { call, entryOf, filesBelow, setStage, stepOf, type Stage } from '../support/host.ts'
import { openSession, play, type ToolResult } from '../support/web.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 })

let stage: Stage
let project = ''
let marker = ''
let count = 0
let web: WebHost

beforeAll(async () => {
  stage = await setStage({ profile: 'web' })
  web = await startWeb(stage.home)
})
afterAll(async () => {
  await web.stop()
  await stage.stop()
})
beforeEach(() => {
  project = join(realpathSync(stage.machine.home), `project-${count++}`)
  mkdirSync(join(project, 'sub'), { recursive: true })
  writeFileSync(join(project, 'hello.txt'), 'line one\nneedle here\n')
  marker = stage.marker(project)
})

/** The marker never holds anything but the empty folders that stand for remote ones. */
const nothingLocal = (): void => expect(filesBelow(join(stage.home.folder, 'presence/mounts'))).toEqual([])

/** The scripted calls in one turn of a session of its own. */
async function turn(cwd: string, script: readonly Step[]): Promise<{ readonly steps: ToolResult[] }> {
  return { steps: await play(web, await openSession(web, { cwd }), script) }
}

/** Another machine beside `demo`, known for the time of a test. */
async function withMachine(
  sshdConfig: readonly string[],
  test: (machine: DemoMachine, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync('/var/tmp/presence-machine-')
  const machine = await startOpenSsh({ folder, alias: 'other', sshdConfig })
  try {
    await knownMachines({ other: entryOf(machine) })
    const below = join(realpathSync(machine.home), 'p')
    mkdirSync(below)
    await test(machine, below)
  } finally {
    await machine.stop()
    await knownMachines({})
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What is known of machines is read again within a second. */
async function knownMachines(more: Readonly<Record<string, object>>): Promise<void> {
  stage.machines(more)
  await new Promise((resume) => setTimeout(resume, 1500))
}

describe('the built-in tools in a session whose folder is on a machine', () => {
  it('C02, C06, C07: take every spelling of a path: relative, the mount’s, and the machine’s own', async () => {
    writeFileSync(join(project, 'sub/deep.txt'), 'deep needle\n')
    const session = await turn(marker, [
      call('read', { file_path: 'sub/deep.txt' }),
      call('read', { file_path: join(marker, 'sub/deep.txt') }),
      call('read', { file_path: join(project, 'sub/deep.txt') }),
      call('grep', { pattern: 'needle', path: 'sub' }),
      call('grep', { pattern: 'needle', path: join(marker, 'sub') }),
      call('grep', { pattern: 'needle', path: join(project, 'sub') }),
      call('glob', { pattern: '*.txt', path: marker }),
      call('glob', { pattern: '*.txt', path: join(project, 'sub') }),
      call('glob', { pattern: '*.txt', path: join(marker, 'sub') }),
      call('bash', {
        command: `cat ${marker}/sub/deep.txt ${project}/sub/deep.txt`,
        description: 'both spellings',
      }),
      call('bash', { command: 'pwd', workdir: 'sub', description: 'relative folder' }),
      call('bash', { command: 'pwd', workdir: join(project, 'sub'), description: 'absolute folder' }),
      call('bash', { command: 'pwd', workdir: join(marker, 'sub'), description: 'mount folder' }),
    ])
    for (const index of [0, 1, 2]) expect(stepOf(session, 'read', index).text).toContain('1: deep needle')
    for (const index of [0, 1, 2])
      expect(stepOf(session, 'grep', index).text).toContain('sub/deep.txt\nLine 1: deep needle')
    expect(stepOf(session, 'glob', 0).text).toBe('hello.txt\nsub/deep.txt')
    for (const index of [1, 2]) expect(stepOf(session, 'glob', index).text).toBe('sub/deep.txt')
    expect(stepOf(session, 'bash', 0).text).toBe('deep needle\ndeep needle\n')
    for (const index of [1, 2, 3]) expect(stepOf(session, 'bash', index).text).toBe(`${project}/sub\n`)
    nothingLocal()
  })

  it('what is too long to show lies in a file of this computer, which read and grep open there', async () => {
    const session = await openSession(web, { cwd: marker })
    const lines = 'for i in $(seq 20000); do echo "line $i"; done; echo the last >&2'
    const [long] = await play(web, session, [call('bash', { command: lines, description: 'long' })])
    const [, output = ''] = /full output: ([^\]\s]+)/.exec(long?.text ?? '') ?? []
    const [, result = ''] = /stored at: (\S+)\. Use read/.exec(long?.text ?? '') ?? []
    expect(existsSync(output) && existsSync(result), long?.text.slice(-500)).toBe(true)
    const [read, grep, whole] = await play(web, session, [
      call('read', { file_path: output, limit: 2 }),
      call('grep', { pattern: '^line 1000$', path: output }),
      call('grep', { pattern: '^the last$', path: result }),
    ])
    expect(read?.text).toContain('1: line 1\n2: line 2\n\n(Showing lines 1-2 of 20000.')
    expect(grep?.text).toContain('Line 1000: line 1000')
    expect(whole?.text).toContain('Found 1 match')
    nothingLocal()
  })

  it('F76, F100: never touch a local file of the same path, although the machine has none there', async () => {
    const decoy = join(stage.userHome, 'decoy.txt')
    writeFileSync(decoy, 'LOCAL DECOY')
    await withMachine(['ForceCommand internal-sftp'], async (_machine, folder) => {
      const session = await turn(stage.marker(folder, 'other'), [
        call('bash', { command: 'cat decoy.txt', workdir: stage.userHome, description: 'a local folder' }),
        call('bash', {
          command: 'cat decoy.txt',
          workdir: '../../../../../../../../..',
          description: 'upward',
        }),
        call('grep', { pattern: 'DECOY', path: stage.userHome }),
      ])
      // This account runs no commands: anything that was found was found locally.
      expect(session.steps).toHaveLength(3)
      for (const step of session.steps) {
        expect(step.isError, step.text).toBe(true)
        expect(step.text).toContain('other: this account runs no commands')
      }
    })
  })
})

describe('right where others were wrong', () => {
  it('write makes missing folders; a command finds its input empty; a folder is really entered', async () => {
    const session = await turn(marker, [
      call('write', { file_path: 'no/such/folder/yet.txt', content: 'x' }),
      call('bash', { command: 'cat; echo "read: $?"', description: 'reads its input' }),
      call('bash', { command: 'pwd', workdir: 'sub', description: 'in a folder' }),
      call('bash', { command: 'pwd', workdir: 'missing', description: 'in no folder' }),
    ])
    expect(readFileSync(join(project, 'no/such/folder/yet.txt'), 'utf8')).toBe('x')
    expect(stepOf(session, 'bash', 0).text).toBe('read: 0\n')
    expect(stepOf(session, 'bash', 1).text).toBe(`${project}/sub\n`)
    expect(stepOf(session, 'bash', 2)).toMatchObject({ isError: true })
    expect(stepOf(session, 'bash', 2).text).toContain(
      `demo: the folder ${project}/missing does not exist there`,
    )
  })

  it('edit and overwrite without a read are refused by the host’s own rule', async () => {
    const session = await turn(marker, [
      call('edit', { file_path: 'hello.txt', old_string: 'needle', new_string: 'x' }),
      call('write', { file_path: 'hello.txt', content: 'overwritten' }),
    ])
    expect(stepOf(session, 'edit')).toMatchObject({ isError: true })
    expect(stepOf(session, 'write')).toMatchObject({ isError: true })
    expect(readFileSync(join(project, 'hello.txt'), 'utf8')).toContain('needle')
  })

  it('a change made meanwhile is stale, although size and second are the same', async () => {
    const change = `printf 'line one\\nNEEDLE here\\n' > hello.txt`
    const session = await turn(marker, [
      call('read', { file_path: 'hello.txt' }),
      call('bash', { command: change, description: 'somebody else' }),
      call('edit', { file_path: 'hello.txt', old_string: 'line', new_string: 'mine' }),
      call('write', { file_path: 'hello.txt', content: 'mine' }),
    ])
    for (const tool of ['edit', 'write']) {
      expect(stepOf(session, tool)).toMatchObject({ isError: true })
      expect(stepOf(session, tool).text).toContain('changed since it was read')
    }
    expect(readFileSync(join(project, 'hello.txt'), 'utf8')).toBe('line one\nNEEDLE here\n')
  })

  it('C01: AGENTS.md and skills are the machine’s, never those of a local repository above', async () => {
    mkdirSync(join(stage.home.folder, '../.git'), { recursive: true })
    writeFileSync(join(stage.home.folder, '../AGENTS.md'), 'LOCAL-INSTRUCTIONS-OF-ANOTHER-PROJECT')
    writeFileSync(join(project, 'AGENTS.md'), 'REMOTE-INSTRUCTIONS')
    mkdirSync(join(project, '.agents/skills/remote-skill'), { recursive: true })
    writeFileSync(
      join(project, '.agents/skills/remote-skill/SKILL.md'),
      '---\nname: remote-skill\ndescription: REMOTE-SKILL-DESCRIPTION\n---\nbody\n',
    )
    const before = stage.model.requests.length
    await turn(marker, [call('read', { file_path: 'hello.txt' }), call('read', { file_path: 'AGENTS.md' })])
    const said = JSON.stringify(stage.model.requests.slice(before))
    const heard = [
      'REMOTE-INSTRUCTIONS',
      'REMOTE-SKILL-DESCRIPTION',
      'LOCAL-INSTRUCTIONS-OF-ANOTHER-PROJECT',
    ].filter((words) => said.includes(words))
    expect(heard).toEqual(['REMOTE-INSTRUCTIONS', 'REMOTE-SKILL-DESCRIPTION'])
  })
})

describe('the sandbox mode', () => {
  it('F94, C50: workspace-write keeps writes, links included, in the folder and the temporary area', async () => {
    const outside = join(realpathSync(stage.machine.home), 'outside')
    mkdirSync(outside, { recursive: true })
    symlinkSync(outside, join(project, 'way-out'))
    const session = await turn(marker, [
      call('write', { file_path: join(outside, 'direct.txt'), content: 'x' }),
      call('write', { file_path: 'way-out/linked.txt', content: 'x' }),
      call('write', { file_path: '../outside/dots.txt', content: 'x' }),
      call('bash', { command: `echo x > ${outside}/bash.txt`, description: 'outside' }),
      call('bash', { command: 'echo x > way-out/bash-linked.txt', description: 'through a link' }),
      call('bash', { command: 'echo inside > inside.txt && cat inside.txt', description: 'inside' }),
    ])
    for (const index of [0, 1, 2]) {
      expect(stepOf(session, 'write', index)).toMatchObject({ isError: true })
      expect(stepOf(session, 'write', index).text).toContain(
        '[sandbox: file access denied under workspace-write mode]',
      )
      expect(stepOf(session, 'write', index).text).toContain('[sandbox: escalation available')
    }
    for (const index of [0, 1]) {
      expect(stepOf(session, 'bash', index).text).toContain(
        '[sandbox: file access denied under workspace-write mode]',
      )
    }
    expect(stepOf(session, 'bash', 2).text).toBe('inside\n')
    expect(readdirSync(outside)).toEqual([])
  })

  it('C67: where a machine cannot confine, a confined command is refused with the ways out, unless a person set the switch', async () => {
    const bin = '/tmp/presence-bare-path'
    mkdirSync(bin, { recursive: true })
    for (const name of ['bash', 'sh', 'cat', 'uname', 'id', 'stat', 'find', 'setsid', 'sleep']) {
      const path = execFileSync('which', [name]).toString().trim()
      if (!existsSync(join(bin, name))) symlinkSync(path, join(bin, name))
    }
    await withMachine([`SetEnv PATH=/nonexistent/bin:${bin}`], async (machine, folder) => {
      const script = [
        call('read', { file_path: 'none' }),
        call('bash', { command: 'echo ran > ran.txt; echo done', description: 'write' }),
      ]
      const refused = await turn(stage.marker(folder, 'other'), script)
      expect(stepOf(refused, 'bash')).toMatchObject({ isError: true })
      expect(stepOf(refused, 'bash').text).toMatch(/other has no usable confinement.*Three ways out/s)
      expect(readdirSync(folder)).toEqual([])
      await knownMachines({ other: { ...entryOf(machine), unconfined: true } })
      const allowed = await turn(stage.marker(folder, 'other'), script)
      expect(stepOf(allowed, 'bash').text).toBe('done\n')
      expect(readdirSync(folder)).toEqual(['ran.txt'])
    })
  })
})

describe('a world that cannot be had', () => {
  it('C03: is refused and never served locally: unknown machine, wrong key, refused port', async () => {
    await knownMachines({
      wrongkey: {
        host: '127.0.0.1',
        port: stage.machine.port,
        user: 'nobody-here',
        identityFile: '/nonexistent/key',
      },
      closed: { host: '127.0.0.1', port: 1, user: 'x' },
    })
    const mounts = join(stage.home.folder, 'presence/mounts')
    for (const [name, words] of [
      ['stranger', 'belongs to the machine "stranger", which is not known'],
      ['wrongkey', 'wrongkey: its host key is not known'],
      ['closed', 'closed: connection refused by 127.0.0.1 port 1'],
    ] as const) {
      const cwd = join(mounts, name, project)
      mkdirSync(cwd, { recursive: true })
      const session = await turn(cwd, [
        call('read', { file_path: 'hello.txt' }),
        call('write', { file_path: 'new.txt', content: 'x' }),
        call('bash', { command: 'echo ran', description: 'run' }),
        call('grep', { pattern: 'needle' }),
        call('glob', { pattern: '*' }),
      ])
      expect(session.steps).toHaveLength(5)
      for (const step of session.steps) {
        expect(step, `${name} ${step.tool}: ${step.text}`).toMatchObject({ isError: true })
        expect(step.text).toContain(words)
      }
    }
    nothingLocal()
    expect(filesBelow(project)).toEqual(['hello.txt'])
  })

  it('C07: names the machine when a path leads to another one', async () => {
    const other = join(stage.home.folder, 'presence/mounts/closed/etc')
    const session = await turn(marker, [
      call('bash', { command: `cat ${other}/passwd`, description: 'another machine' }),
      call('grep', { pattern: 'root', path: other }),
    ])
    expect(stepOf(session, 'bash').text).toContain('the command names a folder of another machine, closed')
    expect(stepOf(session, 'grep').text).toContain('folder of another machine, closed')
  })
})
