/** What becomes of a watch when its connection goes: it waits for another one, and misses nothing. */
import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PresenceError } from '../../../src/base/failure.ts'
import { file, lineTo, watchProcess, type Line } from '../../ssh/life/line.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { listen, until } from './ears.ts'
import { listenersFor } from './listeners.ts'

/** Longer than a watch would need to connect again, if it did. */
const A_WHILE_MS = 1500

describe.each([
  ['a machine with inotifywait', {}],
  [
    'a machine with SFTP only',
    { sshdConfig: ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp'] },
  ],
])('on %s a watch', (_name, options) => {
  let rig: Rig
  let line: Line
  const process = watchProcess()
  beforeAll(async () => {
    rig = await startRig(options)
  })
  afterEach(async () => {
    await line.close()
    expect(process.escaped).toEqual([])
  })
  afterAll(async () => {
    process.stop()
    await rig.stop()
  })

  const prepared = (): string => {
    const folder = mkdtempSync(join(rig.folder, 'w-'))
    for (const name of ['changed', 'same']) writeFileSync(join(folder, name), 'a')
    mkdirSync(join(folder, 'sub'))
    writeFileSync(join(folder, 'sub/in'), 'a')
    return folder
  }
  const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, A_WHILE_MS))

  it.each([
    ['is cut', (): void => line.proxy.reset(), 'lost'],
    ['is closed as idle', (): void => line.connection.closeIfIdle(1), 'idle'],
  ])(
    'whose connection %s makes none, and tells once of what is different when there is one again',
    async (_how, cut, state) => {
      line = await lineTo(rig.server)
      const folder = prepared()
      const [changed, same, sub] = await Promise.all(
        ['changed', 'same', 'sub'].map((name) => listen(line.files, join(folder, name))),
      )
      if (changed === undefined || same === undefined || sub === undefined)
        throw new Error('three were asked for')
      // It has looked, so it is at rest between two looks.
      appendFileSync(join(folder, 'same'), 'b')
      await same.hears('ab')
      await until(() => {
        cut()
        return line.connection.state.kind === state
      })
      const before = [changed.told, same.told, sub.told]
      appendFileSync(join(folder, 'changed'), 'b')
      appendFileSync(join(folder, 'sub/in'), 'b')
      await aWhile()
      expect(line.proxy.made).toBe(1)
      expect(line.connection.state.kind).toBe(state)
      expect([changed.told, same.told, sub.told]).toEqual(before)

      await line.files.stat(file(folder))
      await Promise.all([changed.hears('ab'), sub.hears('in=ab')])
      // Whatever was to be told again would come before this.
      appendFileSync(join(folder, 'same'), 'c')
      await same.hears('abc')
      expect(changed.seen.filter((seen) => seen === 'ab').length).toBe(1)
      expect(sub.seen.filter((seen) => seen === 'in=ab').length).toBe(1)
      expect([changed.errors, same.errors, sub.errors]).toEqual([[], [], []])
      expect(line.proxy.made).toBe(2)
      for (const ears of [changed, same, sub]) await ears.end()
    },
  )

  it('leaves nothing on the machine when its connection breaks, and nothing when the last one ends', async () => {
    line = await lineTo(rig.server)
    const folder = prepared()
    const first = await listen(line.files, join(folder, 'same'))
    const second = await listen(line.files, folder)
    appendFileSync(join(folder, 'same'), 'b')
    await first.hears('ab')
    line.proxy.reset()
    await until(() => line.connection.state.kind === 'lost')
    while ((await listenersFor(rig)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    await line.files.stat(file(folder))
    appendFileSync(join(folder, 'same'), 'c')
    await first.hears('abc')
    await first.end()
    await second.end()
    while ((await listenersFor(rig)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    // What its end had to say is under way for a moment.
    await aWhile()
    const { up, down } = line.proxy.passed
    await aWhile()
    expect(line.proxy.passed).toEqual({ up, down })
  })

  it('cannot begin on a machine that cannot be reached, and is ended while one cannot', async () => {
    line = await lineTo(rig.server)
    const ears = await listen(line.files, join(prepared(), 'same'))
    line.change = { port: 1 }
    line.proxy.reset()
    await until(() => line.connection.state.kind === 'lost')
    const failure = await listen(line.files, join(rig.folder, 'f')).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(PresenceError)
    expect((failure as PresenceError).machine).toBe('demo')
    await ears.end()
    expect(ears.told).toBe(0)
  })

  it('that is given up while it begins is none', async () => {
    line = await lineTo(rig.server)
    const leave = new AbortController()
    const beginning = listen(line.files, join(prepared(), 'same'), leave.signal)
    leave.abort()
    await expect(beginning).rejects.toMatchObject({ family: 'cancelled' })
    await expect(listen(line.files, join(rig.folder, 'f'), leave.signal)).rejects.toMatchObject({
      family: 'cancelled',
    })
  })
})
