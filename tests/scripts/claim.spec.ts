/** Two starts of one checkout would end each other's machine. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { releaseAll } from '../../scripts/project/endings.ts'
import { claim } from '../../scripts/start/claim.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'claim-'))
})
afterEach(async () => {
  await releaseAll()
  await rm(folder, { recursive: true })
})

describe('claim', () => {
  it('refuses a folder that a living process has, and names the process', async () => {
    await claim(folder)
    await expect(claim(folder)).rejects.toThrow(
      `another npm start of this checkout is running (process ${process.pid})`,
    )
  })

  it('takes over from a process that ended without giving it back', async () => {
    await writeFile(join(folder, 'running'), '4194304')
    await claim(folder)
    expect(await readFile(join(folder, 'running'), 'utf8')).toBe(String(process.pid))
  })

  it('gives it back at the end', async () => {
    await claim(folder)
    await releaseAll()
    await expect(claim(folder)).resolves.toBeUndefined()
  })
})
