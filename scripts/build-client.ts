/**
 * Bundles the browser half into the one script that the host loads: a call of its module loader with
 * a CommonJS factory. What the host offers stays a `require`, so that there is one React in the page.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Must be the package's name: the host asks for the module under it. */
const MODULE_ID = 'dsh-presence'

/** The modules that every version of the host lets a plugin require. */
const FROM_THE_HOST = ['react']

const ENTRY = join(dirname(fileURLToPath(import.meta.url)), '..', 'client.ts')

export async function buildClient(options: { outFile: string }): Promise<void> {
  await mkdir(dirname(options.outFile), { recursive: true })
  await build({
    entryPoints: [ENTRY],
    outfile: options.outFile,
    bundle: true,
    format: 'cjs',
    platform: 'browser',
    target: 'es2022',
    external: FROM_THE_HOST,
    jsx: 'transform',
    legalComments: 'none',
    logLevel: 'warning',
    banner: {
      js: [
        `window.__ModuleLoader__.load({ id: ${JSON.stringify(MODULE_ID)}, factory: (require) => {`,
        'const module = { exports: {} };',
        'const exports = module.exports;',
      ].join('\n'),
    },
    footer: { js: 'return module.exports;\n} });' },
  })
}

if (import.meta.main) {
  const outFile = process.argv[2]
  if (outFile === undefined) throw new Error('usage: build-client.ts <output file>')
  await buildClient({ outFile })
}
