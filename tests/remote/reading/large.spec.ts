/** A folder of a size that shows what is paid for each entry. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startRig, type Rig } from '../../support/rig.ts'
import { file } from '../../ssh/life/line.ts'

const ENTRIES = 100_000

let rig: Rig
let folder = ''
beforeAll(async () => {
  rig = await startRig({ sshdConfig: ['Subsystem sftp /usr/lib/openssh/sftp-server'] })
  folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : '/var/tmp', 'presence-large-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await rig.stop()
})

it('F98, C51: a folder of 100,000 entries is listed whole, in the host’s order, and others are served meanwhile', async () => {
  const many = join(folder, 'many')
  mkdirSync(many)
  for (let index = 0; index < ENTRIES; index += 1) writeFileSync(join(many, `file ${index}`), '')
  writeFileSync(join(folder, 'small'), 'small')
  let done = false
  const listing = rig.files.list(file(many)).finally(() => (done = true))
  let served = 0
  while (!done) {
    expect(await rig.files.readText(file(join(folder, 'small')))).toBe('small')
    served += 1
  }
  const names = (await listing).map(({ name }) => name)
  const wanted = readdirSync(many).toSorted((one, other) => one.localeCompare(other))
  expect(names.length).toBe(ENTRIES)
  expect(names.join('\n') === wanted.join('\n')).toBe(true)
  expect(served).toBeGreaterThan(0)
})
