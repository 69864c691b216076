/** Temporary folders of the rig tests, removed after each test. */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const made: string[] = []

afterAll(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true })
})

/** A fresh folder whose name holds what paths of real users hold. */
export async function freshFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "rig with space and 'quote' ")))
  made.push(folder)
  return folder
}
