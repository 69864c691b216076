/** What goes beside the tarball so that a folder with nothing else can install it. */
import { chmod, copyFile, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from '../project/checkout.ts'

const PROGRAM = 'install-presence.mjs'
const WRAPPERS = ['install-presence.sh', 'install-presence.ps1']

/** Each file appears whole: several packings may run at the same time. */
export async function shipInstaller(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const parts = `.${process.pid}.part`
  await build({
    entryPoints: [join(ROOT, 'scripts', 'install.ts')],
    outfile: join(folder, PROGRAM + parts),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    legalComments: 'none',
    logLevel: 'warning',
  })
  await rename(join(folder, PROGRAM + parts), join(folder, PROGRAM))
  for (const name of WRAPPERS) {
    await copyFile(join(ROOT, name), join(folder, name + parts))
    await chmod(join(folder, name + parts), 0o755)
    await rename(join(folder, name + parts), join(folder, name))
  }
}
