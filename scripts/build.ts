/** Builds the package into `lib/`: the host half by the TypeScript compiler, the panel as one script. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildClient } from './build-client.ts'
import { program, ROOT, toolEnvironment } from './project/checkout.ts'
import { runVisibly } from './project/children.ts'

export async function build(): Promise<void> {
  await rm(join(ROOT, 'lib'), { recursive: true, force: true })
  await runVisibly([...program('typescript', 'tsc'), '-p', 'tsconfig.json'], {
    cwd: ROOT,
    env: toolEnvironment(),
  })
  await buildClient({ outFile: join(ROOT, 'lib', 'client.js') })
}

if (import.meta.main) await build()
