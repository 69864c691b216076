/** What is no plain file, what is one only in name, and what changes while it is read. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRig, type Rig } from '../../support/rig.ts'
import { file } from '../../ssh/life/line.ts'

let rig: Rig
let folder = ''
beforeAll(async () => {
  rig = await startRig({ sshdConfig: ['Subsystem sftp /usr/lib/openssh/sftp-server'] })
  folder = realpathSync(rig.folder)
})
afterAll(() => rig.stop())

const at = (name: string): string => join(folder, name)

async function streamed(path: string): Promise<string> {
  let text = ''
  for await (const piece of rig.files.streamText(file(path))) text += piece
  return text
}

describe('F95: what would keep its reader waiting', () => {
  const server = createServer()
  beforeAll(async () => {
    execFileSync('mkfifo', [at('pipe')])
    symlinkSync('pipe', at('to-pipe'))
    execFileSync('mknod', [at('zero'), 'c', '1', '5'])
    execFileSync('mknod', [at('disk'), 'b', '7', '99'])
    await new Promise<void>((resolve) => server.listen(at('socket'), resolve))
    writeFileSync(at('file'), 'still here\n')
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))

  it.each(['pipe', 'to-pipe', 'socket', 'zero', 'disk', '/dev/tty', '/dev/null', '/dev/random'])(
    'is refused before it is opened, whatever is asked of it: %s',
    async (name) => {
      const path = file(name.startsWith('/') ? name : at(name))
      const edit = { oldString: 'a', newString: 'b', matches: 1 }
      for (const call of [
        () => rig.files.readText(path),
        () => streamed(path.path),
        () => rig.files.readBytes(path, 10),
        () => rig.files.readRange(path, 0, 10),
        () => rig.files.edit(path, edit, undefined),
        () => rig.files.write(path, 'x', { kind: 'none' }, 1000),
      ]) {
        await expect(call()).rejects.toMatchObject({ code: 'not-regular' })
      }
      await expect(rig.files.list(path)).rejects.toMatchObject({ code: 'not-directory' })
      expect((await rig.files.stat(path))?.type).toBe('other')
      expect(await rig.files.readText(file(at('file')))).toBe('still here\n')
    },
  )

  it('is listed, and stays what it was', async () => {
    const entries = await rig.files.list(file(folder))
    const types = Object.fromEntries(entries.map(({ name, type }) => [name, type]))
    expect(types).toMatchObject({
      pipe: 'other',
      'to-pipe': 'other',
      socket: 'other',
      zero: 'other',
      file: 'file',
    })
    expect(execFileSync('stat', ['-c', '%F', at('pipe'), at('socket'), at('zero')]).toString()).toBe(
      'fifo\nsocket\ncharacter special file\n',
    )
  })
})

describe('a file of the kernel, whose size says nothing', () => {
  it.each(['/proc/version', '/proc/filesystems', '/sys/devices/system/cpu/online'])(
    'is read whole, in pieces and in parts: %s',
    async (path) => {
      const wanted = readFileSync(path, 'latin1')
      const bytes = await rig.files.readBytes(file(path), 64 * 1024 * 1024)
      expect(bytes.length).toBe(wanted.length)
      expect(bytes.toString('latin1') === wanted).toBe(true)
      expect((await streamed(path)) === wanted).toBe(true)
      const middle = Math.floor(wanted.length / 2)
      const part = await rig.files.readRange(file(path), middle, 5)
      expect(part.toString('latin1')).toBe(wanted.slice(middle, middle + 5))
      expect((await rig.files.readRange(file(path), wanted.length, 5)).length).toBe(0)
      await expect(rig.files.readBytes(file(path), wanted.length - 1)).rejects.toMatchObject({
        code: 'too-large',
      })
    },
  )
})

describe('F91: a file that changes all the time', () => {
  /** Change it, again and again, while it is read so many times. */
  async function whileChanging(
    change: () => void,
    reads: number,
    check: (text: string) => void,
  ): Promise<void> {
    let reading = true
    const writer = (async () => {
      while (reading) {
        change()
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    for (let count = 0; count < reads; count += 1) {
      check(count % 2 === 0 ? await rig.files.readText(file(at('busy'))) : await streamed(at('busy')))
    }
    reading = false
    await writer
  }

  it('by growing is read up to where it was at some moment of the reading', async () => {
    const start = 20_000
    const line = (index: number): string => `line ${String(index).padStart(8, '0')}\n`
    writeFileSync(at('busy'), Array.from({ length: start }, (_unused, index) => line(index)).join(''))
    let lines = start
    let least = start
    const grow = (): void => appendFileSync(at('busy'), line(lines++))
    await whileChanging(grow, 16, (text) => {
      const found = text.split('\n')
      expect(found.pop()).toBe('')
      expect(found.length).toBeGreaterThanOrEqual(least)
      expect(found.findIndex((one, index) => `${one}\n` !== line(index))).toBe(-1)
      least = found.length
    })
    expect(lines).toBeGreaterThan(start)
  })

  it('by being replaced is read as one whole version, never with the length of another', async () => {
    let generation = 0
    const content = (one: number): string => `${one} `.repeat(1000 + ((one * 7919) % 60_000))
    const replace = (): void => {
      generation += 1
      writeFileSync(at('next'), content(generation))
      renameSync(at('next'), at('busy'))
    }
    replace()
    const seen = new Set<number>()
    await whileChanging(replace, 30, (text) => {
      const one = Number(text.slice(0, text.indexOf(' ')))
      seen.add(one)
      expect(text === content(one), `version ${one}`).toBe(true)
    })
    expect(seen.size).toBeGreaterThan(1)
  })
})
