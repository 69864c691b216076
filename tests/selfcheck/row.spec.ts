import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Service, type Context } from '@deepseek-ai/cordis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startChild } from '../../scripts/project/children.ts'
import { selfcheckTurn, withRow } from '../../scripts/selfcheck/in-host.ts'
import { CHECKS } from '../../src/selfcheck/checks.ts'
import { tableOf, type Report } from '../../src/selfcheck/report.ts'
import * as row from '../../src/selfcheck/run.ts'
import { setStage, type Stage } from '../support/host.ts'
import { startExamination, type Examination } from './examination.ts'

// Each turn boots a whole host.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

describe('in a real DSH, installed as a user installs it', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await setStage({ profile: 'headless' })
  })
  afterAll(() => stage.stop())

  it('every check passes, the report is private, and the turn goes on', async () => {
    const file = join(stage.home.folder, 'report.json')
    writeFileSync(file, 'old', { mode: 0o644 })
    const { report, output } = await selfcheckTurn(stage.home, {
      machine: 'demo',
      folder: undefined,
      report: file,
    })
    expect(report?.checks.filter((check) => !check.passed)).toEqual([])
    expect(report).toMatchObject({ machine: 'demo', passed: CHECKS.length, failed: 0, leftovers: [] })
    expect(report?.versions.host).toBe('0.1.0-rc.8')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(output).toContain(`${CHECKS.length} passed, 0 failed\n`)
    expect(output).toContain('ok\n')
    expect(readdirSync(stage.machine.home)).toEqual([])
  })

  it('a machine that is not known is told in the report, and DSH starts all the same', async () => {
    const file = join(stage.home.folder, 'report.json')
    const { report, output } = await selfcheckTurn(stage.home, {
      machine: 'nowhere',
      folder: undefined,
      report: file,
    })
    expect(report?.prevented).toContain('nowhere: no such machine')
    expect(report).toMatchObject({ passed: 0, failed: CHECKS.length })
    expect(output).toContain('ok\n')
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'what the checks made is removed when DSH is ended by %s in the middle of them',
    async (signal) => {
      const report = join(stage.home.folder, 'ended.json')
      const home = await withRow(stage.home, { machine: 'demo', folder: undefined, report })
      const dsh = await startChild([...home.dsh, '--profile', 'headless', 'go'], {
        cwd: home.folder,
        env: home.env,
      })
      const made = (): number => readdirSync(stage.machine.home).length
      await vi.waitUntil(() => made() > 0, { timeout: 60_000, interval: 20 })
      process.kill(dsh.pid, signal)
      await dsh.ended
      expect(made()).toBe(0)
      const { leftovers } = JSON.parse(readFileSync(report, 'utf8')) as Report
      expect(leftovers).toEqual([])
    },
  )
})

describe('in a bare context', () => {
  let rig: Examination
  beforeAll(async () => {
    rig = await startExamination()
    // Where no host is, there are no classes of a host either.
    rig.ctx.baseUrl = 'file:///nonexistent/profile/'
  })
  afterAll(() => rig.stop())

  const load = async (config: row.Config): Promise<void> => {
    const rows = rig.ctx as unknown as {
      plugin(plugin: unknown, config: unknown): { await(): Promise<unknown>; dispose(): Promise<void> }
    }
    const fiber = rows.plugin(row, config)
    await fiber.await()
    await fiber.dispose()
  }

  it('C13: registers no service, and leaves the one that is there', async () => {
    class OtherFiles extends Service {
      constructor(ctx: Context) {
        super(ctx, 'fs')
      }
    }
    await rig.ctx.plugin(OtherFiles).await()
    const file = join(rig.home, 'bare.json')
    const services = (): (string | symbol)[] => Reflect.ownKeys(rig.ctx.reflect.store)
    const before = services()
    await load({ machine: 'demo', report: file })
    expect(services()).toEqual(before)
    expect(rig.ctx.get('fs')).toBeInstanceOf(OtherFiles)
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report
    const failed = report.checks.filter((check) => !check.passed)
    expect(failed.map((check) => check.name)).toEqual([
      "the host's classes are the very ones that Presence uses",
    ])
    expect(failed[0]?.detail).toContain("the host's classes must be found")
  })

  it('writes its report beside its own files when it is told no other place', async () => {
    await load({ machine: 'nowhere' })
    expect(existsSync(join(rig.home, 'presence/selfcheck-report.json'))).toBe(true)
  })

  it.each([
    {},
    { machine: 7 },
    { machine: '' },
    { machine: 'nowhere', report: '/nonexistent/folder/report' },
  ])('never fails as a row, also with %j', async (config) => {
    await expect(load(config)).resolves.toBeUndefined()
  })

  it('removes what it made when the host ends in the middle of the checks', async () => {
    const rows = rig.ctx as unknown as {
      plugin(plugin: unknown, config: unknown): { dispose(): Promise<void> }
    }
    const file = join(rig.home, 'ended.json')
    const fiber = rows.plugin(row, { machine: 'demo', report: file })
    await vi.waitUntil(() => readdirSync(rig.machine.home).length > 0, { timeout: 30_000 })
    await fiber.dispose()
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report
    expect(report.checks.some((check) => check.detail.includes('the host is ending'))).toBe(true)
    expect(report.leftovers).toEqual([])
    expect(readdirSync(rig.machine.home)).toEqual([])
  })
})

it('the table shows each check with what was found, and closes with the counts', () => {
  const report: Report = {
    machine: 'demo',
    folder: '/home/me/presence-selfcheck-1',
    began: '2025-01-31T00:00:00.000Z',
    versions: { presence: '1', host: '2', node: '3' },
    capabilities: { server: 'SSH-2.0-Other', sftp: true, shell: undefined },
    checks: [
      { name: 'one thing is so', passed: true, ms: 1.4, detail: 'as far as one can see' },
      { name: 'another is so', passed: false, ms: 1200, detail: 'it is not\nat all' },
    ],
    prevented: undefined,
    leftovers: ['/x may still be there'],
    passed: 1,
    failed: 1,
  }
  expect(tableOf(report)).toBe(
    [
      'Presence 1 with host 2 on Node 3',
      'Machine  demo:/home/me/presence-selfcheck-1',
      'Offers   SFTP, no commands; SSH-2.0-Other',
      '',
      'passed      1 ms  one thing is so',
      '                  (as far as one can see)',
      'FAILED   1200 ms  another is so',
      '                  ! it is not',
      '                  ! at all',
      'Left behind: /x may still be there',
      '',
      '1 passed, 1 failed',
    ].join('\n'),
  )
})
