import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Check } from '../../src/selfcheck/check.ts'
import { CHECKS } from '../../src/selfcheck/checks.ts'
import { failedIn, startExamination, type Examination } from './examination.ts'
import { FAULTS } from './faults.ts'

let rig: Examination
let caught = 0

// A temporary folder of our own: other examinations may run at the same time, and have folders in theirs.
const ownTemporary = mkdtempSync('/var/tmp/presence-selfcheck-temporary-')
process.env['TMPDIR'] = ownTemporary

beforeAll(async () => {
  rig = await startExamination()
})
afterAll(async () => {
  console.log(`selfcheck: ${CHECKS.length} checks, ${caught} of them shown to fail when they must`)
  await rig.stop()
  rmSync(ownTemporary, { recursive: true, force: true })
})

/** Whatever happened, nothing of a run may be on either computer. */
afterEach(() => {
  const ours = /presence-selfcheck-[0-9a-f]{12}|presence-selfcheck-[A-Za-z0-9]{6}$/
  expect(readdirSync(rig.machine.home)).toEqual([])
  expect(readdirSync(tmpdir()).filter((name) => ours.test(name))).toEqual([])
  expect(markersOf(rig)).toEqual([])
})

const markersOf = ({ home }: Examination): string[] => {
  const mounts = join(home, 'presence/mounts')
  if (!existsSync(mounts)) return []
  return readdirSync(mounts, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /selfcheck-[0-9a-f]{12}/.test(path),
  )
}

const last = CHECKS.filter((check) => check.when === 'after clearing')
const named = (name: string): Check => {
  const check = CHECKS.find((one) => one.name === name)
  if (check === undefined) throw new Error(`there is no check "${name}"`)
  return check
}
const writes = named('a write without a guard makes and replaces a file, and makes missing folders')

it('every check passes on a real machine, and nothing is left of them', async () => {
  const report = await rig.run()
  expect(failedIn(report)).toEqual([])
  expect(report).toMatchObject({ machine: 'demo', failed: 0, passed: CHECKS.length, leftovers: [] })
  expect(report.capabilities?.server).toMatch(/^SSH-2\.0-OpenSSH/)
})

it('there are at least fourteen checks, each with a name of its own, and a fault for each', () => {
  const names = CHECKS.map((check) => check.name)
  expect(names.length).toBeGreaterThanOrEqual(14)
  expect(new Set(names).size).toBe(names.length)
  expect(Object.keys(FAULTS).toSorted()).toEqual(names.toSorted())
})

describe('a check fails when what it is for is broken, and everything is removed all the same', () => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`“${name}” fails when ${fault.when}`, async () => {
      const subjects = rig.subjects()
      const { options, undo } = fault.put(subjects, rig) ?? {}
      const check = named(name)
      // What looks at the traces of others needs others.
      const checks = check.when === undefined ? [check, ...last] : [writes, check]
      const report = await rig.run({ subjects, checks, ...options })
      undo?.()
      expect(failedIn(report)).toEqual([name])
      expect(report.checks.find((result) => result.name === name)?.detail).not.toBe('')
      expect(report.leftovers).toEqual([])
      caught += 1
    })
  }
})

describe('a run goes on and clears up', () => {
  const passes: Check = { name: 'passes', make: () => Promise.resolve() }

  it('after a check that throws, also at once and no error', async () => {
    const throws: Check = {
      name: 'throws',
      make: () => {
        throw new Error('thrown at once')
      },
    }
    const oddly: Check = { name: 'oddly', make: () => Promise.reject(new Error('')) }
    const report = await rig.run({ checks: [throws, oddly, passes, ...last] })
    expect(report.checks.map(({ passed, detail }) => [passed, detail]).slice(0, 3)).toEqual([
      [false, 'thrown at once'],
      [false, ''],
      [true, ''],
    ])
    expect(report).toMatchObject({ passed: 2, failed: 2 })
  })

  it('after a check that never ends, whose signal tells it to let go', async () => {
    let told: unknown
    const hangs: Check = {
      name: 'hangs',
      make: (at) =>
        new Promise(() => {
          at.signal.addEventListener('abort', () => (told = at.signal.reason), { once: true })
        }),
    }
    const report = await rig.run({ checks: [hangs, passes, ...last], limitMs: 1000 })
    expect(failedIn(report)).toEqual(['hangs'])
    expect(report.checks[0]?.detail).toBe('not finished within 1 s')
    expect(told).toBeInstanceOf(Error)
  })

  it('when the host ends in the middle: the rest counts as failed', async () => {
    const leave = new AbortController()
    const leaves: Check = {
      name: 'leaves',
      make: (at) => {
        leave.abort()
        return at.bench.put(at.path('file'), 'x')
      },
    }
    const report = await rig.run({
      checks: [passes, leaves, { ...passes, name: 'too late' }, ...last],
      signal: leave.signal,
    })
    expect(failedIn(report)).toEqual(['leaves', 'too late'])
    expect(report.checks[2]?.detail).toBe('not made: the host is ending')
  })

  it('over a fresh connection when the machine cuts the old one', async () => {
    const cuts: Check = {
      name: 'cuts',
      make: async (at) => {
        await at.bench.put(at.path('file'), 'x')
        await rig.machine.restart()
      },
    }
    const report = await rig.run({ checks: [cuts, writes, ...last] })
    expect(failedIn(report)).toEqual([])
  })
})

describe('what cannot be done is said', () => {
  it('names the machine that is not known, and makes no check', async () => {
    const report = await rig.run({ machine: 'nowhere' })
    expect(report.prevented).toContain('nowhere: no such machine')
    expect(report).toMatchObject({ passed: 0, failed: CHECKS.length, folder: undefined })
  })

  it('names the folder that is not there', async () => {
    const report = await rig.run({ folder: '/nonexistent/folder' })
    expect(report.prevented).toContain('/nonexistent/folder')
    expect(report.passed).toBe(0)
  })

  it('a confined command is refused where the machine has no confinement, and that is right', async () => {
    const subjects = rig.subjects()
    subjects.sandbox.confine = () => {
      throw Object.assign(new Error('no confinement'), { code: 'SANDBOX_UNAVAILABLE' })
    }
    const report = await rig.run({
      subjects,
      checks: [named('a confined command changes nothing, or does not run')],
    })
    expect(report.checks[0]).toMatchObject({
      passed: true,
      detail: expect.stringContaining('refused') as string,
    })
  })
})
