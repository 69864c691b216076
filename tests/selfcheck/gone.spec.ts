import { readdirSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import type { Check } from '../../src/selfcheck/check.ts'
import { CHECKS } from '../../src/selfcheck/checks.ts'
import { tableOf } from '../../src/selfcheck/report.ts'
import { failedIn, startExamination, type Examination } from './examination.ts'

let rig: Examination
afterEach(() => rig.stop())

it('says what it could not remove from a machine that went away, and where', async () => {
  rig = await startExamination()
  const goes: Check = {
    name: 'goes',
    make: async (at) => {
      await at.bench.put(at.path('file'), 'x')
      await rig.machine.stop()
    },
  }
  const last = CHECKS.filter((check) => check.when === 'after clearing')
  const report = await rig.run({ checks: [goes, ...last] })
  const [name] = readdirSync(rig.machine.home)
  expect(failedIn(report)).toEqual(last.map((check) => check.name))
  expect(report.leftovers).toHaveLength(1)
  expect(report.leftovers[0]).toContain(`${rig.machine.home}/${name} may still be on demo`)
  expect(tableOf(report)).toMatch(/Left behind: .*remove it by hand\n\n1 passed, 1 failed$/)
})

it('on an account without commands, everything that files need passes and the rest says why not', async () => {
  rig = await startExamination({ sshdConfig: ['ForceCommand internal-sftp'] })
  const report = await rig.run({ folder: rig.machine.home })
  const failed = report.checks.filter((check) => !check.passed)
  expect(failed.map((check) => check.name)).toEqual([
    'a link and what it leads to are one file',
    'a command runs in its folder, and its output and exit code come back',
    'a command finds the end of its input',
    'arguments and variables reach a command as they are',
    'a file has the same path for a command as for the file system',
    'an ended command leaves no process on the machine',
    'a confined command changes nothing, or does not run',
  ])
  for (const check of failed) expect(check.detail).toContain('this account runs no commands')
  expect(readdirSync(rig.machine.home)).toEqual([])
})

it('gives up a machine that lets us in and then refuses every channel', async () => {
  rig = await startExamination({ sshdConfig: ['MaxSessions 0'] })
  const report = await rig.run({ openingLimitMs: 2000 })
  expect(report.prevented).toContain('demo')
  expect(report).toMatchObject({ passed: 0, failed: CHECKS.length })
})
