/**
 * Everything that can be said about the checkout without running the product: format, lint, types and
 * the arrows between the rooms. All of it is reported, not only the first failure.
 */
import { join } from 'node:path'
import { program, ROOT, toolEnvironment } from './project/checkout.ts'
import { runInSight } from './project/children.ts'

interface Check {
  readonly name: string
  readonly argv: readonly string[]
}

const CHECKS: readonly Check[] = [
  { name: 'format', argv: [...program('prettier'), '--check', '--log-level', 'warn', '.'] },
  { name: 'arrows between rooms', argv: [process.execPath, join(ROOT, 'scripts', 'check-arrows.ts')] },
  { name: 'types of the host half', argv: types('tsconfig.json') },
  { name: 'types of the panel', argv: types('src/client/tsconfig.json') },
  { name: 'types of scripts and tests', argv: types('tsconfig.tools.json') },
  { name: 'types of the page tests', argv: types('tests/client/tsconfig.json') },
  { name: 'lint', argv: [...program('oxlint'), '--type-aware', '--deny-warnings', '--format', 'unix'] },
]

/** @returns the names of the checks that failed; what is wrong has been printed. */
export async function check(): Promise<string[]> {
  const failed: string[] = []
  for (const { name, argv } of CHECKS) {
    const { code } = await runInSight(argv, { cwd: ROOT, env: toolEnvironment() })
    console.error(`${code === 0 ? 'ok     ' : 'FAILED '} ${name}`)
    if (code !== 0) failed.push(name)
  }
  return failed
}

function types(project: string): string[] {
  return [...program('typescript', 'tsc'), '--noEmit', '-p', project]
}

if (import.meta.main) process.exitCode = (await check()).length === 0 ? 0 : 1
