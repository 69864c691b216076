import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { call, filesBelow, setStage, type Stage } from '../support/host.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let withPresence: Stage
let without: Stage
const project = mkdtempSync('/var/tmp/presence-local-')

beforeAll(async () => {
  withPresence = await setStage({ profile: 'headless' })
  without = await setStage({ profile: 'headless', presence: false })
})
afterAll(async () => {
  await withPresence.stop()
  await without.stop()
  rmSync(project, { recursive: true, force: true })
})

/** The same folder, with the same times and content, for each run. */
function prepare(): void {
  rmSync(project, { recursive: true, force: true })
  mkdirSync(join(project, 'src/deep'), { recursive: true })
  mkdirSync(join(project, '.git'))
  writeFileSync(join(project, 'AGENTS.md'), 'Local instructions.\n')
  writeFileSync(join(project, 'hello.txt'), 'line one\nneedle here\n')
  writeFileSync(join(project, 'windows.txt'), 'a\r\nb\r\n')
  writeFileSync(join(project, 'binary'), Buffer.from([0, 1, 2]))
  writeFileSync(join(project, 'src/deep/code.ts'), 'export const needle = 1\n')
}

const script = [
  call('read', { file_path: 'hello.txt' }),
  call('read', { file_path: 'binary' }),
  call('read', { file_path: 'none' }),
  call('read', { file_path: '/etc/hostname' }),
  call('bash', { command: 'pwd; ls; echo err >&2; cat; exit 3', description: 'look' }),
  call('bash', { command: 'pwd', workdir: 'src', description: 'folder' }),
  call('bash', { command: 'echo x > /etc/presence-test', description: 'outside' }),
  // One file only: ripgrep's own order over several differs from run to run.
  call('grep', { pattern: 'needle here' }),
  call('grep', { pattern: 'needle', path: join(project, 'src') }),
  call('grep', { pattern: '(' }),
  call('glob', { pattern: '**/*.ts' }),
  call('write', { file_path: 'new/file.txt', content: 'one\ntwo\n' }),
  call('write', { file_path: '/etc/presence-test', content: 'x' }),
  call('edit', { file_path: 'hello.txt', old_string: 'needle', new_string: 'thread' }),
  call('read', { file_path: 'windows.txt' }),
  call('edit', { file_path: 'windows.txt', old_string: 'b', new_string: 'B' }),
  call('edit', { file_path: 'windows.txt', old_string: 'missing', new_string: 'x' }),
  call('str_replace_editor', { command: 'view', path: project }),
]

interface Outcome {
  readonly steps: readonly object[]
  readonly asked: string
  readonly files: Readonly<Record<string, string>>
}

async function play(stage: Stage): Promise<Outcome> {
  prepare()
  const before = stage.model.requests.length
  const session = await stage.turn(project, script)
  // Ids of calls and homes differ by nature; everything else the model is given must not.
  const neutral = (text: string): string =>
    text
      .replaceAll(stage.home.folder, '$DSH_HOME')
      .replaceAll(stage.userHome, '$HOME')
      .replaceAll(/call_\d+_\d+/g, 'call')
      .replaceAll(/turn \d+/g, 'turn')
  return {
    steps: session.steps.map(({ tool, text, isError }) => ({ tool, text: neutral(text), isError })),
    asked: neutral(
      JSON.stringify(stage.model.requests.slice(before).filter((request) => request.tools.length > 0)),
    ),
    files: Object.fromEntries(
      filesBelow(project).map((name) => [name, readFileSync(join(project, name), 'latin1')]),
    ),
  }
}

it('C14: a local session is the same with Presence and without: results, prompts, and bytes on disk', async () => {
  const [plain, ours] = [await play(without), await play(withPresence)]
  expect(ours.steps).toEqual(plain.steps)
  expect(ours.files).toEqual(plain.files)
  expect(plain.steps).toHaveLength(script.length)
  expect(ours.asked === plain.asked, difference(plain.asked, ours.asked)).toBe(true)
})

/** The first place where two long texts part. */
function difference(a: string, b: string): string {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return `without: …${a.slice(Math.max(0, at - 80), at + 120)}\nwith: …${b.slice(Math.max(0, at - 80), at + 120)}`
}
