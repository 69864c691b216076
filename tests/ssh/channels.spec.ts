import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startEmbedded } from '../../scripts/machine/embedded.ts'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import type { ExecChannel } from '../../src/ssh/channel/exec.ts'
import { ChannelRefused, ChannelSlots, QueueLeft } from '../../src/ssh/connection/channel-slots.ts'
import { ChannelError } from '../../src/ssh/errors.ts'
import { outputOf } from '../support/command-output.ts'
import { rigOf, startRig, type Rig } from '../support/rig.ts'

const never = new AbortController().signal

describe('channel slots', () => {
  it('try a refused channel again, and learn the limit', async () => {
    const slots = new ChannelSlots('demo', 6)
    let openNow = 0
    const opener = async (): Promise<string> => {
      if (openNow >= 2) throw new ChannelRefused('full')
      openNow += 1
      return 'channel'
    }
    const work = async (): Promise<void> => {
      const { release } = await slots.acquire(opener, never, undefined)
      await new Promise((resolve) => setTimeout(resolve, 2))
      openNow -= 1
      release()
    }
    await Promise.all(Array.from({ length: 40 }, work))
    expect(slots.open).toBe(0)
    // Refusals that last are no late freeing any more.
    openNow = 1
    const refused = slots.acquire(opener, never, undefined)
    const second = slots.acquire(opener, never, undefined)
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(slots.limit).toBe(1)
    expect(slots.hasRoom).toBe(false)
    openNow = 0
    await Promise.all([refused, second])
  })

  it('are given back by a caller who leaves the queue, for good or for another connection', async () => {
    const slots = new ChannelSlots('demo', 1)
    const first = await slots.acquire(() => Promise.resolve('a'), never, undefined)
    const leaving = new AbortController()
    const second = slots.acquire(() => Promise.resolve('b'), leaving.signal, undefined)
    const elsewhere = new AbortController()
    const third = slots.acquire(() => Promise.resolve('c'), never, elsewhere.signal)
    leaving.abort(new Error('left'))
    elsewhere.abort()
    await expect(second).rejects.toThrow('left')
    await expect(third).rejects.toBeInstanceOf(QueueLeft)
    first.release()
    expect(slots.open).toBe(0)
    expect((await slots.acquire(() => Promise.resolve('d'), never, undefined)).channel).toBe('d')
  })

  it('keep a channel that opens while its caller could go elsewhere: a command never runs twice', async () => {
    const slots = new ChannelSlots('demo', 1)
    const elsewhere = new AbortController()
    const opening = Promise.withResolvers<string>()
    const acquired = slots.acquire(() => opening.promise, never, elsewhere.signal)
    elsewhere.abort()
    opening.resolve('opened')
    expect((await acquired).channel).toBe('opened')
  })

  it('have a place beside them, that is given up for a command that is refused', async () => {
    const slots = new ChannelSlots('demo', 6)
    let sessions = 1
    const opener = async (): Promise<string> => {
      if (sessions >= 2) throw new ChannelRefused('full')
      sessions += 1
      return 'channel'
    }
    let busy = true
    let asked = 0
    const leave = slots.takeBeside(() => {
      asked += 1
      if (busy) return false
      sessions -= 1
      leave?.()
      return true
    })
    expect(leave).toBeDefined()
    expect(slots.takeBeside(() => false)).toBeUndefined()
    sessions += 1
    const command = slots.acquire(opener, never, undefined)
    await expect.poll(() => asked).toBeGreaterThan(1)
    busy = false
    await command
    // It was learnt that there are two: one for small requests, one for commands, none to be done without.
    await expect.poll(() => slots.takeBeside(() => false)).toBeUndefined()
  })

  it('leave at least one place to commands once their limit is known', async () => {
    const slots = new ChannelSlots('demo', 6)
    let sessions = 0
    const opener = async (): Promise<string> => {
      if (sessions >= 2) throw new ChannelRefused('full')
      sessions += 1
      return 'channel'
    }
    const first = await slots.acquire(opener, never, undefined)
    const second = await slots.acquire(opener, never, undefined)
    const leaving = new AbortController()
    const third = slots.acquire(opener, leaving.signal, undefined)
    await expect.poll(() => slots.limit).toBe(2)
    leaving.abort(new Error('left'))
    await expect(third).rejects.toThrow('left')
    expect(slots.takeBeside(() => true)).toBeUndefined()
    second.release()
    expect(slots.takeBeside(() => true)).toBeUndefined()
    first.release()
    expect(slots.takeBeside(() => true)).toBeDefined()
    expect(slots.limit).toBe(1)
  })
})

describe('a machine that allows few sessions', () => {
  let rig: Rig | undefined
  afterEach(() => rig?.stop())

  /** Terminals that stay open, commands beside them, and files. */
  async function useMuch(used: Rig, terminals: number): Promise<void> {
    writeFileSync(join(used.folder, 'f'), 'content')
    const file = { path: parseRemotePath(join(used.folder, 'f')), shown: 'f' }
    const session = await used.machine.session()
    const size = { type: 'dumb', rows: 24, cols: 80 }
    const open: ExecChannel[] = []
    for (let count = 0; count < terminals; count += 1) {
      const channel = await session.exec('cat', { terminal: size, lasting: true })
      channel.stdout.resume()
      open.push(channel)
    }
    const commands = Array.from({ length: 20 }, (_, index) => outputOf(session.exec, `echo ${index}`))
    const reads = Array.from({ length: 20 }, () => used.files.readText(file))
    expect(await Promise.all(commands)).toEqual(Array.from({ length: 20 }, (_, index) => `${index}\n`))
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['content']))
    expect((await (await used.machine.session()).helper()).usable).toBe(true)
    for (const channel of open) channel.close()
    await Promise.all(open.map((channel) => channel.closed))
  }

  it('has room for commands and files beside more terminals than one connection holds', async () => {
    rig = await startRig()
    await useMuch(rig, 9)
  })

  it.each([1, 2, 3])('works with %i sessions a connection', async (sessions) => {
    rig = await startRig({ sshdConfig: [`MaxSessions ${sessions}`] })
    await useMuch(rig, 2)
  })

  it('serves a server that must not run short commands side by side, its helper shell open', async () => {
    const folder = mkdtempSync('/var/tmp/presence-serial-')
    rig = rigOf(folder, await startEmbedded({ folder, software: 'dropbear_2022.83' }))
    const session = await rig.machine.session()
    expect((await session.helper()).usable).toBe(true)
    const outputs = await Promise.all(
      Array.from({ length: 8 }, (_, index) => outputOf(session.exec, `echo ${index}`)),
    )
    expect(outputs).toEqual(Array.from({ length: 8 }, (_, index) => `${index}\n`))
  })

  it('is told apart from one that allows none at all, which is an error and no wait without end', async () => {
    rig = await startRig({ sshdConfig: ['MaxSessions 0'] })
    const failure = await rig.machine.session().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ChannelError)
    expect((failure as Error).message).toMatch(/demo: .*allows no/)
  })
})
