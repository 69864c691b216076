/** Packs the tarball that every end-to-end test installs, once for the whole run. */
import type { TestProject } from 'vitest/node'
import { pack } from '../../scripts/pack.ts'

export default async function setup(project: TestProject): Promise<void> {
  project.provide('tarball', await pack())
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Absolute path of the packed bundle. */
    tarball: string
  }
}
