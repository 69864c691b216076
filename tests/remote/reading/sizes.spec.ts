/** Every size around the borders of what one request and one burst of them carry, whole, in pieces and in parts. */
import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRig, type Rig } from '../../support/rig.ts'
import { file } from '../../ssh/life/line.ts'

const [KIB, MIB, GIB] = [1024, 1024 ** 2, 1024 ** 3]
const BORDERS = [32 * KIB, 64 * KIB, 128 * KIB, 255 * KIB, 256 * KIB, MIB, 2 * MIB, 8 * MIB]
const SIZES = [0, 1, ...BORDERS.flatMap((border) => [border - 1, border, border + 1])]

let rig: Rig
let folder = ''
beforeAll(async () => {
  rig = await startRig()
  folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : '/var/tmp', 'presence-sizes-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await rig.stop()
})

const hash = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** A file of nothing but holes, except for these pieces. */
function sparse(name: string, size: number, pieces: Readonly<Record<number, string>>): string {
  const path = join(folder, name)
  writeFileSync(path, '')
  truncateSync(path, size)
  const handle = openSync(path, 'r+')
  for (const [at, text] of Object.entries(pieces)) writeSync(handle, text, Number(at))
  closeSync(handle)
  return path
}

describe('C42, F88: a file', () => {
  const whole = randomBytes(4 * MIB + 1).toString('hex')

  it.each(SIZES)(
    'of %i bytes is the same as bytes, as text, as a stream, and in its last part',
    async (size) => {
      const content = whole.slice(0, size)
      const path = file(join(folder, 'f'))
      writeFileSync(path.path, content)
      const wanted = hash(content)
      expect(hash(await rig.files.readBytes(path, size))).toBe(wanted)
      // One way to read a whole file, and two things made of it.
      if (size <= MIB) expect(hash(await rig.files.readText(path))).toBe(wanted)
      const streamed = createHash('sha256')
      for await (const piece of rig.files.streamText(path)) streamed.update(piece)
      expect(streamed.digest('hex')).toBe(wanted)
      const from = size - Math.floor(size / 3)
      expect(hash(await rig.files.readRange(path, from, size))).toBe(hash(content.slice(from)))
      if (size > 0) {
        await expect(rig.files.readBytes(path, size - 1)).rejects.toMatchObject({ code: 'too-large' })
      }
    },
  )

  it('gives any part of it, however it lies to the borders', async () => {
    const path = file(join(folder, 'parts'))
    writeFileSync(path.path, whole.slice(0, 2 * MIB + 5))
    const places = [0, 1, ...BORDERS.flatMap((border) => [border - 1, border])].filter((at) => at <= 2 * MIB)
    for (const at of places) {
      for (const length of [0, 1, 2, 32 * KIB + 1, 128 * KIB, 300 * KIB]) {
        const part = await rig.files.readRange(path, at, length)
        const wanted = whole.slice(at, Math.min(at + length, 2 * MIB + 5))
        expect(part.length === wanted.length && hash(part) === hash(wanted), `${length} from ${at}`).toBe(
          true,
        )
      }
    }
    for (const at of [2 * MIB + 5, 2 * MIB + 6, 3 * GIB]) {
      expect((await rig.files.readRange(path, at, 10)).length).toBe(0)
    }
    const rest = await rig.files.readRange(path, 5, Number.MAX_SAFE_INTEGER)
    expect(hash(rest)).toBe(hash(whole.slice(5, 2 * MIB + 5)))
  })
})

it('C42: 512 MiB are streamed whole and in bounded memory', { timeout: 120_000 }, async () => {
  const size = 512 * MIB
  // What looks like text at its beginning is text, whatever comes later.
  const [text, middle, end] = ['text\n'.repeat(2 * KIB), 'across the border', 'end']
  const border = 256 * MIB - 2
  const path = sparse('large', size, { 0: text, [border]: middle, [size - end.length]: end })
  const before = process.memoryUsage().arrayBuffers
  let [bytes, most, sum] = [0, 0, 0]
  for await (const piece of rig.files.streamText(file(path))) {
    sum = crc32(piece, sum)
    bytes += piece.length
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }
  expect(bytes).toBe(size)
  expect(most).toBeLessThan(size / 4)
  const holes = Buffer.alloc(MIB)
  const hole = (from: number, to: number, so: number): number => {
    let expected = so
    for (let left = to - from; left > 0; left -= MIB) {
      expected = crc32(holes.subarray(0, Math.min(left, MIB)), expected)
    }
    return expected
  }
  const first = crc32(middle, hole(text.length, border, crc32(text)))
  expect(sum).toBe(crc32(end, hole(border + middle.length, size - end.length, first)))
})

it('parts behind 2 and 4 GiB are found, and a file of that size is refused before it is read', async () => {
  const size = 5 * GIB
  const places = [2 * GIB - 2, 2 * GIB + 9, 4 * GIB - 2, 4 * GIB + 9, size - 5]
  const path = file(sparse('huge', size, Object.fromEntries(places.map((at) => [at, 'found']))))
  for (const at of places) {
    const part = await rig.files.readRange(path, at - 1, 7)
    expect(part.toString('latin1'), `${at}`).toBe(at + 5 === size ? '\0found' : '\0found\0')
  }
  expect((await rig.files.stat(path))?.size).toBe(size)
  await expect(rig.files.readBytes(path, MIB)).rejects.toMatchObject({ code: 'too-large' })
})
