/** The profile without a page, which ends with its turn: its sessions are on the machine as well. */
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { call, filesBelow, setStage, stepOf } from '../support/host.ts'

// Each test boots a whole host.
vi.setConfig({ testTimeout: 240_000 })

it('F103: without a page, the built-in tools read, write, edit, search and run there, and leave nothing here', async () => {
  const stage = await setStage({ profile: 'headless' })
  try {
    const project = join(realpathSync(stage.machine.home), 'project')
    mkdirSync(join(project, 'sub'), { recursive: true })
    writeFileSync(join(project, 'hello.txt'), 'line one\nneedle here\n')
    const session = await stage.turn(stage.marker(project), [
      call('read', { file_path: 'hello.txt' }),
      call('bash', { command: 'pwd; cat hello.txt; echo err >&2; exit 3', description: 'look' }),
      call('grep', { pattern: 'needle' }),
      call('glob', { pattern: '**/*.txt' }),
      call('write', { file_path: 'sub/new.txt', content: 'made by write\n' }),
      call('edit', { file_path: 'hello.txt', old_string: 'needle', new_string: 'thread' }),
      // Only this profile has it. It takes whole paths, and knows them in both spellings.
      call('str_replace_editor', { command: 'view', path: join(project, 'sub/new.txt') }),
      call('str_replace_editor', { command: 'view', path: join(stage.marker(project), 'sub/new.txt') }),
    ])
    expect(session.steps.every((step) => !step.isError)).toBe(true)
    expect(stepOf(session, 'read').text).toContain('2: needle here')
    expect(stepOf(session, 'bash').text).toBe(
      `${project}\nline one\nneedle here\n[stderr]\nerr\n[exit code: 3]`,
    )
    expect(stepOf(session, 'grep').text).toContain('hello.txt\nLine 2: needle here')
    expect(stepOf(session, 'glob').text).toBe('hello.txt')
    for (const index of [0, 1]) {
      expect(stepOf(session, 'str_replace_editor', index).text).toContain('made by write')
    }
    const seen = await stage.machine.run(`cat ${project}/sub/new.txt ${project}/hello.txt`)
    expect(seen.stdout).toBe('made by write\nline one\nthread here\n')
    // The marker never holds anything but the empty folders that stand for remote ones.
    expect(filesBelow(join(stage.home.folder, 'presence/mounts'))).toEqual([])
    expect(filesBelow(project)).toEqual(['hello.txt', 'sub/new.txt'])
  } finally {
    await stage.stop()
  }
})

it('C67: read-only refuses every change, with the host’s marker', async () => {
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
