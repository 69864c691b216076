/** SFTP that stops answering while the line is fine, and a line that stops while SFTP is fine. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { descendantsOf } from '../../scripts/machine/processes.ts'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { RemoteFiles } from '../../src/remote/files/remote-files.ts'
import { Machine } from '../../src/remote/machine.ts'
import type { MachineSession } from '../../src/remote/session.ts'
import { LinkLostError } from '../../src/ssh/errors.ts'
import { startProxy } from '../support/proxy.ts'
import { poolFor, settingsFor, startRig, type Rig } from '../support/rig.ts'

const EXTERNAL = 'Subsystem sftp /usr/lib/openssh/sftp-server'
/** Milliseconds that these tests give a request; the product gives it 15 s. */
const SOON = 300

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ sshdConfig: [EXTERNAL] })
  writeFileSync(join(rig.folder, 'f'), 'content')
  execFileSync('mkfifo', [join(rig.folder, 'fifo')])
})
afterAll(() => rig.stop())

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => {
      throw new Error(`no failure, but ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )

/** A session whose requests are given up soon, and the connection as it was. */
async function impatient(machine: Machine): Promise<MachineSession> {
  const session = await machine.session()
  session.link.requestMs = SOON
  return session
}

/** Run `act` while the requests of a session are given up soon; what is healthy keeps its time. */
async function whileImpatient<T>(session: MachineSession, act: () => Promise<T>): Promise<T> {
  const { requestMs } = session.link
  session.link.requestMs = SOON
  try {
    return await act()
  } finally {
    session.link.requestMs = requestMs
  }
}

const file = (name: string): { path: ReturnType<typeof parseRemotePath>; shown: string } => ({
  path: parseRemotePath(join(rig.folder, name)),
  shown: name,
})

describe('an SFTP channel that freezes', () => {
  it('by opening a FIFO is given up alone: what waits there fails by its kind, and files go on', async () => {
    const session = await rig.machine.session()
    const running = await session.exec('cat')
    const frozen = await session.sftp()
    const failures = await whileImpatient(session, () =>
      Promise.all(
        [
          frozen.openForReading(join(rig.folder, 'fifo')),
          frozen.stat('/'),
          frozen.makeFolder(join(rig.folder, 'never')),
        ].map(failureOf),
      ),
    )
    expect(failures.every((failure) => failure instanceof LinkLostError)).toBe(true)
    expect(failures.map((failure) => (failure as LinkLostError).outcomeUnknown)).toEqual([false, false, true])
    expect((failures[0] as Error).message).toBe(`demo: no answer to open within ${SOON / 1000} s`)
    expect(frozen.usable).toBe(false)
    expect(frozen.pending).toBe(0)
    expect(await rig.files.readText(file('f'))).toBe('content')
    const fresh = await session.sftp()
    expect(fresh).not.toBe(frozen)
    // The connection and what runs on it never noticed.
    expect(await rig.machine.session()).toBe(session)
    let echoed = ''
    running.stdout.on('data', (chunk: Buffer) => (echoed += chunk.toString()))
    running.stdin.end('still here')
    expect(await running.exit).toEqual({ exitCode: 0, signal: null })
    await running.closed
    expect(echoed).toBe('still here')
  })

  it('by a stopped server process is replaced again and again, and takes none of the places of commands', async () => {
    const session = await rig.machine.session()
    for (let round = 1; round <= 3; round += 1) {
      const frozen = await session.sftp()
      await frozen.stat('/')
      const stopped = await sftpServers(rig)
      for (const pid of stopped) process.kill(pid, 'SIGSTOP')
      try {
        expect(await whileImpatient(session, () => failureOf(frozen.stat('/')))).toBeInstanceOf(LinkLostError)
        expect(await rig.files.readText(file('f'))).toBe('content')
      } finally {
        for (const pid of stopped) process.kill(pid, 'SIGKILL')
      }
    }
    expect(session.link.alive).toBe(true)
    expect(session.link.commandsRunning).toBeLessThanOrEqual(1)
  })

  it('and holds the only session of its connection leads to a new one, over which the read is repeated', async () => {
    const small = await startRig({ sshdConfig: [EXTERNAL, 'MaxSessions 1'] })
    try {
      writeFileSync(join(small.folder, 'f'), 'content')
      execFileSync('mkfifo', [join(small.folder, 'fifo')])
      const session = await small.machine.session()
      const frozen = await session.sftp()
      await whileImpatient(session, () => failureOf(frozen.openForReading(join(small.folder, 'fifo'))))
      const path = parseRemotePath(join(small.folder, 'f'))
      expect(await small.files.readText({ path, shown: 'f' })).toBe('content')
      expect((await small.machine.session()).link).not.toBe(session.link)
    } finally {
      await small.stop()
    }
  })

  it('is not mistaken for a dead line on a connection without keepalives', async () => {
    const pool = poolFor(() => settingsFor(rig.server, { keepaliveIntervalMs: 0 }))
    const machine = new Machine(pool.connection('demo'))
    try {
      const session = await impatient(machine)
      const frozen = await session.sftp()
      await failureOf(frozen.openForReading(join(rig.folder, 'fifo')))
      expect(session.link.alive).toBe(true)
      session.link.requestMs = 10_000
      expect(await new RemoteFiles(machine).readText(file('f'))).toBe('content')
    } finally {
      pool.close()
    }
  })
})

describe('a line that carries nothing any more', () => {
  it('is known to be dead when the request that found it out fails, so that the next one connects', async () => {
    const proxy = await startProxy(rig.server)
    const pool = poolFor(() => settingsFor(rig.server, { port: proxy.port, hostKeys: anyPort(rig) }))
    const machine = new Machine(pool.connection('demo'))
    try {
      const session = await impatient(machine)
      const sftp = await session.sftp()
      proxy.freeze()
      mkdirSync(join(rig.folder, 'folder'))
      const failures = await Promise.all([
        failureOf(sftp.stat('/')),
        failureOf(sftp.removeFolder(join(rig.folder, 'folder'))),
      ])
      expect(failures.map((failure) => (failure as LinkLostError).outcomeUnknown)).toEqual([false, true])
      expect(session.link.alive).toBe(false)
      expect(machine.current).toBeUndefined()
      proxy.thaw()
      expect(await new RemoteFiles(machine).readText(file('f'))).toBe('content')
    } finally {
      pool.close()
      await proxy.close()
    }
  })
})

/** The host key is known under the server's port; the proxy has another. */
function anyPort({ server }: Rig): ReturnType<typeof settingsFor>['hostKeys'] {
  return { ...settingsFor(server).hostKeys, policy: 'no' }
}

async function sftpServers({ server }: Rig): Promise<number[]> {
  const found = await server.run('pgrep -x sftp-server || true')
  const all = found.stdout.split('\n').filter(Boolean).map(Number)
  const ours = await descendantsOf(process.pid)
  return all.filter((pid) => ours.includes(pid))
}
