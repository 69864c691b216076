/** A folder and files of sizes that show what is paid for each. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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

it('F98: a folder of 100,000 entries is listed whole, in the host’s order, and others are served meanwhile', async () => {
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

it('streams a large file in bounded memory, whole', async () => {
  const size = 200 * 1024 * 1024
  const block = randomBytes(512 * 1024).toString('hex')
  const path = join(folder, 'large')
  for (let written = 0; written < size; written += block.length) writeFileSync(path, block, { flag: 'a' })
  const before = process.memoryUsage().arrayBuffers
  const hash = createHash('sha256')
  let [bytes, most] = [0, 0]
  for await (const text of rig.files.streamText(file(path))) {
    hash.update(text)
    bytes += text.length
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }
  expect(bytes).toBe(size)
  expect(hash.digest('hex')).toBe(createHash('sha256').update(readFileSync(path)).digest('hex'))
  expect(most).toBeLessThan(64 * 1024 * 1024)
})

it('gives kernel files whole, in ranges and as a stream, although they say that they are empty', async () => {
  const path = '/proc/version'
  const text = readFileSync(path, 'utf8')
  let streamed = ''
  for await (const piece of rig.files.streamText(file(path))) streamed += piece
  expect(streamed).toBe(text)
  expect((await rig.files.readBytes(file(path), 10_000)).toString()).toBe(text)
  expect((await rig.files.readRange(file(path), 3, 5)).toString()).toBe(text.slice(3, 8))
  await expect(rig.files.readBytes(file(path), 5)).rejects.toMatchObject({ code: 'too-large' })
})
