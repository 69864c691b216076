/**
 * Where the checkout and the programs of its dependencies are. It starts nothing; running them is
 * `children.ts`.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout's folder, without a trailing slash. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** Everything `npm start` and the tests leave behind in the checkout is under here. */
export const STATE = join(ROOT, '.presence')

/**
 * The argv that runs a dependency's program with this process's own Node.
 * @throws when the package or the program is not there, with what to do.
 */
export function program(packageName: string, binary = packageName): string[] {
  const manifestFile = join(ROOT, 'node_modules', packageName, 'package.json')
  const manifest = readJson(manifestFile) as { bin?: string | Record<string, string> }
  const relative = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin?.[binary]
  if (relative === undefined) throw new Error(`${packageName} has no program ${binary} (${manifestFile})`)
  return [process.execPath, join(dirname(manifestFile), relative)]
}

/** The environment for children that look up `node`, `pnpm` or `dsh` by name. */
export function toolEnvironment(base: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const first = [dirname(process.execPath), join(ROOT, 'node_modules', '.bin')]
  return { ...base, PATH: [...first, base.PATH ?? ''].join(delimiter) }
}

/** The file of a package that is only a dependency of a dependency (pnpm hoists those aside). */
export function nestedPackage(specifier: string): string {
  return createRequire(join(ROOT, 'node_modules', '.pnpm', 'node_modules', 'resolve-from-here.js')).resolve(
    specifier,
  )
}

export function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}
