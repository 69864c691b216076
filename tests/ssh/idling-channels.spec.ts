/** Channels that can be done without: they keep no connection open, take no place from others, and make none. */
import { afterEach, describe, expect, it } from 'vitest'
import type { ExecOptions } from '../../src/ssh/connection/link.ts'
import type { ExecChannel } from '../../src/ssh/channel/exec.ts'
import type { MachineSession } from '../../src/remote/session.ts'
import { ChannelError } from '../../src/ssh/errors.ts'
import { outputOf } from '../support/command-output.ts'
import { startRig, type Rig } from '../support/rig.ts'
import { lineTo } from './life/line.ts'

let rig: Rig | undefined
afterEach(() => rig?.stop())

const TERMINAL = { terminal: { type: 'dumb', rows: 24, cols: 80 }, lasting: true } as const

async function open(session: MachineSession, options: ExecOptions): Promise<ExecChannel> {
  const channel = await session.exec('cat', options)
  channel.stdout.resume()
  return channel
}

/** The connection's clock has gone on. */
async function aMoment(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5))
}

it('a connection is closed as idle under a helper shell and what else only waits, and under nothing that works', async () => {
  rig = await startRig()
  const { machine } = rig
  const session = await machine.session()
  await session.helper()
  const waiting = await open(session, { lasting: true, idles: true })
  const working = await open(session, {})
  await aMoment()
  machine.connection.closeIfIdle(1)
  expect(machine.current).toBe(session)
  working.close()
  await working.closed
  await aMoment()
  machine.connection.closeIfIdle(1)
  await waiting.closed
  expect(machine.current).toBeUndefined()
  expect(machine.connection.state).toEqual({ kind: 'idle' })
})

describe('a modest channel', () => {
  it('is refused where there is no room, without another connection and without a wait', async () => {
    rig = await startRig({ sshdConfig: ['MaxSessions 2'] })
    const line = await lineTo(rig.server)
    try {
      const session = await line.machine.session()
      await session.helper()
      const refused: unknown = await session
        .exec('cat', { lasting: true, modest: true })
        .catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(ChannelError)
      expect(refused).toMatchObject({ code: 'refused' })
      expect(line.proxy.made).toBe(1)
    } finally {
      await line.close()
    }
  })

  it('is the first to make room, before another connection is made', async () => {
    rig = await startRig({ sshdConfig: ['MaxSessions 3'] })
    const line = await lineTo(rig.server)
    try {
      const session = await line.machine.session()
      const asked: string[] = []
      const modest: ExecChannel = await open(session, {
        lasting: true,
        modest: true,
        yields: () => {
          asked.push('modest')
          modest.close()
        },
      })
      const first = await open(session, TERMINAL)
      const second = await open(session, TERMINAL)
      expect(asked).toEqual(['modest'])
      expect(line.proxy.made).toBe(1)
      first.close()
      second.close()
      await Promise.all([first.closed, second.closed])
      expect(await outputOf(session.exec, 'echo still')).toBe('still\n')
    } finally {
      await line.close()
    }
  })
})
