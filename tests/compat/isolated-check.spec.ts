import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run, type Outcome } from '../../scripts/project/children.ts'
import { ROOT, toolEnvironment } from '../../scripts/project/checkout.ts'

function isolatedCheck(args: readonly string[], order = ''): Promise<Outcome> {
  return run([process.execPath, join(ROOT, 'scripts', 'isolated-check.ts'), ...args], {
    cwd: ROOT,
    env: { ...toolEnvironment(), ORDER: order },
  })
}

it('C25: the rows find together in bare contexts in every order, and leave nothing behind', async () => {
  const { code, stdout, stderr } = await isolatedCheck([])
  expect(code, stdout + stderr).toBe(0)
  const lines = stdout.trim().split('\n')
  expect(lines.at(-1)).toMatch(/^\d+ passed, 0 failed$/)
  for (const order of ['provider-first', 'provider-last'])
    expect(lines.filter((line) => line.startsWith('ok') && line.includes(order)).length).toBeGreaterThan(5)
}, 300_000)

it('an order that does not exist is told, and is no success', async () => {
  for (const outcome of [await isolatedCheck(['--order', 'sideways']), await isolatedCheck([], 'sideways')]) {
    expect(outcome.code).toBe(2)
    expect(outcome.stderr).toContain('provider-first, provider-last')
  }
})
