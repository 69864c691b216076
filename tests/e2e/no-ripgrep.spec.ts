import { mkdirSync, realpathSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { hiding } from '../../scripts/machine/hiding.ts'
import { call, setStage, stepOf, type Stage } from '../support/host.ts'
import { furnish } from '../support/userlands.ts'

// Each test boots a whole host at least once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let stage: Stage
let project = ''

beforeAll(async () => {
  stage = await setStage({ profile: 'headless', machine: { within: hiding('rg') } })
  furnish(join(dirname(stage.machine.home), 'bin'), 'busybox')
  project = join(realpathSync(stage.machine.home), 'project')
  for (const folder of ['.git', 'src', 'build', 'src/.cache']) {
    mkdirSync(join(project, folder), { recursive: true })
  }
  let time = 1_700_000_000
  const write = (path: string, text: string): void => {
    writeFileSync(join(project, path), text)
    utimesSync(join(project, path), (time += 10), time)
  }
  write('.gitignore', 'build/\n*.log\n!src/kept.log\n')
  write('src/late.ts', 'const first = 1\nconst needle = "x"\r\n')
  write('src/kept.log', 'a needle that is kept\n')
  write('src/early.ts', 'no such thing\n')
  write('src/.cache/hidden.ts', 'needle, hidden\n')
  write('build/made.ts', 'needle, made\n')
  write('other.log', 'needle, ignored\n')
})
afterAll(() => stage.stop())

it('C65: on a machine without ripgrep, grep, glob and presence_search find what ripgrep would, and say by what', async () => {
  expect((await stage.machine.run('rg --version || echo none')).stdout).toBe('none\n')
  const session = await stage.turn(stage.marker(project), [
    call('grep', { pattern: String.raw`\bneedle\b` }),
    call('grep', { pattern: 'needle', include: '*.ts', path: 'src' }),
    call('grep', { pattern: 'needle', path: join(project, 'build/made.ts') }),
    call('grep', { pattern: 'nothing like that' }),
    call('grep', { pattern: '(' }),
    call('grep', { pattern: String.raw`\Aneedle` }),
    call('glob', { pattern: '**/*.ts' }),
    call('glob', { pattern: '*.log', path: 'src' }),
    call('presence_search', { content: 'NEEDLE', ignore_case: true, name: '*.log' }),
    call('presence_search', { name: '*.TS', ignore_case: true }),
    call('presence_hosts', { host: 'demo' }),
  ])
  const grep = (index: number): string => stepOf(session, 'grep', index).text
  expect(grep(0)).toContain('src/kept.log\nLine 1: a needle that is kept')
  expect(grep(0)).toContain('src/late.ts\nLine 2: const needle = "x"')
  expect(grep(0)).not.toMatch(/hidden|made|ignored/)
  expect(grep(1)).toContain('src/late.ts\nLine 2: const needle = "x"')
  expect(grep(1)).not.toContain('kept')
  expect(grep(2)).toContain('build/made.ts\nLine 1: needle, made')
  expect(grep(3)).toContain('No matches found')
  expect(grep(4)).toContain('grep pattern rejected by ripgrep: rg: regex parse error')
  expect(grep(5)).toContain('there is no ripgrep on this machine')
  expect(grep(5)).toContain(String.raw`\A`)
  expect(stepOf(session, 'glob', 0).text).toBe(
    'src/late.ts\nsrc/early.ts\nsrc/.cache/hidden.ts\nbuild/made.ts',
  )
  expect(stepOf(session, 'glob', 1).text).toBe('src/kept.log')
  const search = (index: number): string => stepOf(session, 'presence_search', index).text
  expect(search(0)).toBe(
    `demo:${project} (by Presence's own engine, there is no ripgrep)\n` +
      'other.log:1: needle, ignored\nsrc/kept.log:1: a needle that is kept',
  )
  expect(search(1).split('\n').slice(1)).toEqual([
    'build/made.ts',
    'src/.cache/hidden.ts',
    'src/early.ts',
    'src/late.ts',
  ])
  expect(stepOf(session, 'presence_hosts').text).toContain("search: Presence's own engine")
})
