/**
 * `npm test`: provides what the suite needs, checks the checkout, runs every test once. Arguments go
 * to vitest, so `npm test -- tests/ssh` runs one room.
 */
import { check } from './check.ts'
import { program, ROOT, toolEnvironment } from './project/checkout.ts'
import { runInSight } from './project/children.ts'
import { provideNeeds } from './suite/needs.ts'

await provideNeeds()
const failedChecks = await check()
const tests = await runInSight([...program('vitest'), 'run', ...process.argv.slice(2)], {
  cwd: ROOT,
  env: toolEnvironment(),
})
if (failedChecks.length > 0) console.error(`Checks that failed: ${failedChecks.join(', ')}`)
process.exitCode = failedChecks.length === 0 && tests.code === 0 ? 0 : 1
