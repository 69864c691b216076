/** Once for the whole run: the tarball that every end-to-end test installs, and a place for `once.ts`. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { pack } from '../../scripts/pack.ts'

export default async function setup(project: TestProject): Promise<() => void> {
  project.provide('tarball', await pack())
  const shared = realpathSync(mkdtempSync('/var/tmp/presence-shared-'))
  project.provide('shared', shared)
  return () => rmSync(shared, { recursive: true, force: true })
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Absolute path of the packed bundle. */
    tarball: string
    /** A folder for what test files share. */
    shared: string
  }
}
