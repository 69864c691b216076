import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, filesBelow, setStage, stepOf, type Stage } from '../support/host.ts'

// Each test boots a whole host at least once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let stage: Stage
let project = ''
let marker = ''
let count = 0

beforeAll(async () => {
  stage = await setStage({ profile: 'headless' })
})
afterAll(() => stage.stop())
beforeEach(() => {
  project = join(realpathSync(stage.machine.home), `project-${count++}`)
  mkdirSync(join(project, 'sub'), { recursive: true })
  writeFileSync(join(project, 'hello.txt'), 'line one\nneedle here\n')
  marker = stage.marker(project)
})

/** The marker never holds anything but the empty folders that stand for remote ones. */
const nothingLocal = (): void => expect(filesBelow(join(stage.home.folder, 'presence/mounts'))).toEqual([])

describe('the built-in tools in a session whose folder is on a machine', () => {
  it('F103: read, write, edit, search and run there, and leave nothing here', async () => {
    const session = await stage.turn(marker, [
      call('read', { file_path: 'hello.txt' }),
      call('bash', { command: 'pwd; cat hello.txt; echo err >&2; exit 3', description: 'look' }),
      call('grep', { pattern: 'needle' }),
      call('glob', { pattern: '**/*.txt' }),
      call('write', { file_path: 'sub/new.txt', content: 'made by write\n' }),
      call('edit', { file_path: 'hello.txt', old_string: 'needle', new_string: 'thread' }),
    ])
    expect(session.steps.every((step) => !step.isError)).toBe(true)
    expect(stepOf(session, 'read').text).toContain('2: needle here')
    expect(stepOf(session, 'bash').text).toBe(
      `${project}\nline one\nneedle here\n[stderr]\nerr\n[exit code: 3]`,
    )
    expect(stepOf(session, 'grep').text).toContain('hello.txt\nLine 2: needle here')
    expect(stepOf(session, 'glob').text).toBe('hello.txt')
    const seen = await stage.machine.run(`cat ${project}/sub/new.txt ${project}/hello.txt`)
    expect(seen.stdout).toBe('made by write\nline one\nthread here\n')
    nothingLocal()
    expect(filesBelow(project)).toEqual(['hello.txt', 'sub/new.txt'])
  })

  it('C02, C06, C07: take every spelling of a path: relative, the mount’s, and the machine’s own', async () => {
    writeFileSync(join(project, 'sub/deep.txt'), 'deep needle\n')
    const session = await stage.turn(marker, [
      call('read', { file_path: 'sub/deep.txt' }),
      call('read', { file_path: join(marker, 'sub/deep.txt') }),
      call('read', { file_path: join(project, 'sub/deep.txt') }),
      call('grep', { pattern: 'needle', path: 'sub' }),
      call('grep', { pattern: 'needle', path: join(marker, 'sub') }),
      call('grep', { pattern: 'needle', path: join(project, 'sub') }),
      call('glob', { pattern: '*.txt', path: marker }),
      call('bash', {
        command: `cat ${marker}/sub/deep.txt ${project}/sub/deep.txt`,
        description: 'both spellings',
      }),
      call('bash', { command: 'pwd', workdir: 'sub', description: 'relative folder' }),
      call('bash', { command: 'pwd', workdir: join(project, 'sub'), description: 'absolute folder' }),
      call('bash', { command: 'pwd', workdir: join(marker, 'sub'), description: 'mount folder' }),
      call('str_replace_editor', { command: 'view', path: join(project, 'sub/deep.txt') }),
    ])
    for (const index of [0, 1, 2]) expect(stepOf(session, 'read', index).text).toContain('1: deep needle')
    for (const index of [0, 1, 2])
      expect(stepOf(session, 'grep', index).text).toContain('sub/deep.txt\nLine 1: deep needle')
    expect(stepOf(session, 'glob').text).toBe('hello.txt\nsub/deep.txt')
    expect(stepOf(session, 'bash', 0).text).toBe('deep needle\ndeep needle\n')
    for (const index of [1, 2, 3]) expect(stepOf(session, 'bash', index).text).toBe(`${project}/sub\n`)
    expect(stepOf(session, 'str_replace_editor').text).toContain('deep needle')
    nothingLocal()
  })

  it('F100: never touch a local file of the same path, although the machine has none there', async () => {
    const hidden = await setStage({
      profile: 'headless',
      machine: { sshdConfig: ['ForceCommand internal-sftp'] },
    })
    try {
      const decoy = join(hidden.userHome, 'decoy.txt')
      writeFileSync(decoy, 'LOCAL DECOY')
      const folder = join(realpathSync(hidden.machine.home), 'p')
      mkdirSync(folder)
      const session = await hidden.turn(hidden.marker(folder), [
        call('bash', { command: 'cat decoy.txt', workdir: hidden.userHome, description: 'a local folder' }),
        call('bash', {
          command: 'cat decoy.txt',
          workdir: '../../../../../../../../..',
          description: 'upward',
        }),
        call('grep', { pattern: 'DECOY', path: hidden.userHome }),
      ])
      // This account runs no commands: anything that was found was found locally.
      for (const step of session.steps) {
        expect(step.isError, step.text).toBe(true)
        expect(step.text).toContain('demo: this account runs no commands')
      }
    } finally {
      await hidden.stop()
    }
  })
})

describe('right where others were wrong', () => {
  it('write makes missing folders; a command finds its input empty; a folder is really entered', async () => {
    const session = await stage.turn(marker, [
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
    const session = await stage.turn(marker, [
      call('edit', { file_path: 'hello.txt', old_string: 'needle', new_string: 'x' }),
      call('write', { file_path: 'hello.txt', content: 'overwritten' }),
    ])
    expect(stepOf(session, 'edit')).toMatchObject({ isError: true })
    expect(stepOf(session, 'write')).toMatchObject({ isError: true })
    expect(readFileSync(join(project, 'hello.txt'), 'utf8')).toContain('needle')
  })

  it('a change made meanwhile is stale, although size and second are the same', async () => {
    const change = `printf 'line one\\nNEEDLE here\\n' > hello.txt`
    const session = await stage.turn(marker, [
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
    await stage.turn(marker, [
      call('read', { file_path: 'hello.txt' }),
      call('read', { file_path: 'AGENTS.md' }),
    ])
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
    const session = await stage.turn(marker, [
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

  it('read-only refuses every change, with the host’s marker', async () => {
    const reader = await setStage({ profile: 'headless', home: { permissionMode: 'read-only' } })
    try {
      const folder = join(realpathSync(reader.machine.home), 'p')
      mkdirSync(folder)
      writeFileSync(join(folder, 'a'), 'a\n')
      const session = await reader.turn(reader.marker(folder), [
        call('read', { file_path: 'a' }),
        call('write', { file_path: 'b', content: 'x' }),
        call('edit', { file_path: 'a', old_string: 'a', new_string: 'b' }),
        call('bash', { command: 'echo x > c', description: 'write' }),
        call('bash', { command: 'cat a', description: 'read' }),
      ])
      for (const step of [stepOf(session, 'write'), stepOf(session, 'edit'), stepOf(session, 'bash', 0)]) {
        expect(step.text).toContain('[sandbox: file access denied under read-only mode]')
      }
      expect(stepOf(session, 'bash', 1).text).toBe('a\n')
      expect(readdirSync(folder)).toEqual(['a'])
    } finally {
      await reader.stop()
    }
  })

  it('where a machine cannot confine, a confined command is refused with the ways out, unless a person set the switch', async () => {
    const bare = await setStage({
      profile: 'headless',
      machine: { sshdConfig: ['SetEnv PATH=/nonexistent/bin:/tmp/presence-bare-path'] },
    })
    const bin = '/tmp/presence-bare-path'
    mkdirSync(bin, { recursive: true })
    for (const name of ['bash', 'sh', 'cat', 'uname', 'id', 'stat', 'find', 'setsid', 'sleep']) {
      const path = execFileSync('which', [name]).toString().trim()
      if (!existsSync(join(bin, name))) symlinkSync(path, join(bin, name))
    }
    try {
      const folder = join(realpathSync(bare.machine.home), 'p')
      mkdirSync(folder)
      const script = [
        call('read', { file_path: 'none' }),
        call('bash', { command: 'echo ran > ran.txt; echo done', description: 'write' }),
      ]
      const refused = await bare.turn(bare.marker(folder), script)
      expect(stepOf(refused, 'bash')).toMatchObject({ isError: true })
      expect(stepOf(refused, 'bash').text).toMatch(/demo has no usable confinement.*Three ways out/s)
      expect(readdirSync(folder)).toEqual([])
      bare.machines({}, { unconfined: true })
      const allowed = await bare.turn(bare.marker(folder), script)
      expect(stepOf(allowed, 'bash').text).toBe('done\n')
      expect(readdirSync(folder)).toEqual(['ran.txt'])
    } finally {
      await bare.stop()
    }
  })
})

describe('a world that cannot be had', () => {
  it('C03: is refused and never served locally: unknown machine, wrong key, refused port', async () => {
    stage.machines({
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
      const session = await stage.turn(cwd, [
        call('read', { file_path: 'hello.txt' }),
        call('write', { file_path: 'new.txt', content: 'x' }),
        call('bash', { command: 'echo ran', description: 'run' }),
        call('grep', { pattern: 'needle' }),
        call('glob', { pattern: '*' }),
      ])
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
    const session = await stage.turn(marker, [
      call('bash', { command: `cat ${other}/passwd`, description: 'another machine' }),
      call('grep', { pattern: 'root', path: other }),
    ])
    expect(stepOf(session, 'bash').text).toContain('the command names a folder of another machine, closed')
    expect(stepOf(session, 'grep').text).toContain('folder of another machine, closed')
  })
})
