/** Where the installer itself lies, and the tarball that goes with it. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from '../project/children.ts'
import { newestIn } from './bundle.ts'
import { InstallError } from './failure.ts'

/** `checkout`: the sources; they can be packed. `folder`: what `npm run pack` made, copied anywhere. */
export interface Source {
  readonly kind: 'checkout' | 'folder'
  readonly folder: string
}

export function sourceOf(programFile: string): Source {
  const folder = dirname(programFile)
  const root = dirname(folder)
  const isCheckout = existsSync(join(folder, 'bootstrap.mjs')) && existsSync(join(root, 'package.json'))
  return isCheckout ? { kind: 'checkout', folder: root } : { kind: 'folder', folder }
}

/** @throws InstallError `no-tarball` with what packing printed, or where none was found. */
export async function findTarball(source: Source): Promise<string> {
  if (source.kind === 'checkout') return packed(source.folder)
  const newest = await newestIn(source.folder)
  if (newest !== undefined) return newest
  throw new InstallError(
    'no-tarball',
    `There is no tarball of Presence in ${source.folder}: put it there, or name it with --tarball.`,
  )
}

async function packed(root: string): Promise<string> {
  const scripts = join(root, 'scripts')
  const outcome = await run([process.execPath, join(scripts, 'bootstrap.mjs'), join(scripts, 'pack.ts')], {
    cwd: root,
  })
  const tarball = outcome.stdout.trim().split('\n').at(-1) ?? ''
  if (outcome.code === 0 && tarball !== '') return tarball
  throw new InstallError('no-tarball', `The bundle could not be packed:\n${outcome.stdout}${outcome.stderr}`)
}
