/** Builds the package: the host half by the TypeScript compiler, the panel as one script beside it. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildClient } from './build-client.ts'
import { program, ROOT, toolEnvironment } from './project/checkout.ts'
import { runVisibly } from './project/children.ts'

/** `folder` is emptied first; what package.json calls `lib` is in it afterwards. */
export async function build(folder: string = join(ROOT, 'lib')): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await runVisibly([...program('typescript', 'tsc'), '-p', 'tsconfig.json', '--outDir', folder], {
    cwd: ROOT,
    env: toolEnvironment(),
  })
  await buildClient({ outFile: join(folder, 'client.js') })
}

if (import.meta.main) await build()
