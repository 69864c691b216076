/** Connecting begins before the settings are certain; what was begun wrongly never matters. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { Secrets } from '../../src/ssh/auth/secrets.ts'
import { forecastSettings } from '../../src/ssh/config/resolve.ts'
import type { MachineSettings } from '../../src/ssh/config/settings.ts'
import { ConnectionPool } from '../../src/ssh/connection/pool.ts'
import { NOBODY } from '../../src/ssh/questions.ts'
import { block, configured } from '../support/configured.ts'
import { settingsFor } from '../support/rig.ts'

const folder = mkdtempSync('/var/tmp/presence-head-start-')
let server: DemoMachine
let decoy: Server
/** What was connected to the decoy, and what it was told. */
let visits: { closed: boolean; bytes: number }[] = []
const sockets = new Set<Socket>()
const pools: ConnectionPool[] = []

beforeAll(async () => {
  server = await startOpenSsh({ folder })
  decoy = createServer((socket) => {
    const visit = { closed: false, bytes: 0 }
    visits.push(visit)
    sockets.add(socket)
    socket.on('data', (chunk) => (visit.bytes += chunk.length))
    socket.on('error', (_reset) => undefined)
    socket.on('close', () => (visit.closed = true))
  })
  await new Promise<void>((resolve) => decoy.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  for (const pool of pools.splice(0)) pool.close()
  visits = []
})
afterAll(async () => {
  await server.stop()
  decoy.close()
  rmSync(folder, { recursive: true, force: true })
})

const decoyPort = (): number => (decoy.address() as AddressInfo).port

/** @param judgeMs - how long the judge of the settings takes. */
function pool(
  forecast: MachineSettings | undefined,
  settings: MachineSettings,
  judgeMs = 100,
): ConnectionPool {
  const made = new ConnectionPool({
    settings: (_machine, signal) => sleep(judgeMs, settings, { signal }),
    forecast: () => Promise.resolve(forecast),
    hopSettings: () => Promise.reject(new Error('no jump host is expected')),
    questions: NOBODY,
    secrets: new Secrets(),
    env: {},
    platform: 'linux',
  })
  pools.push(made)
  return made
}

describe('a head start', () => {
  it('to a wrong place is closed unused, without a word to it', async () => {
    const right = settingsFor(server)
    const link = await pool({ ...right, port: decoyPort() }, right)
      .connection('demo')
      .link()
    expect(link.facts.address).toBe(`127.0.0.1:${server.port}`)
    await expect.poll(() => visits).toEqual([{ closed: true, bytes: 0 }])
  })

  it('that fails is no failure of a connection to another place', async () => {
    const right = settingsFor(server)
    await pool({ ...right, port: 1 }, right)
      .connection('demo')
      .link()
    const failing = pool({ ...right, port: 1 }, { ...right, port: 1 })
    await expect(failing.connection('demo').link()).rejects.toMatchObject({
      code: 'unreachable',
      stage: 'tcp',
    })
  })

  it('is never made for a machine behind a proxy', async () => {
    const right = settingsFor(server)
    const proxied = { ...right, port: decoyPort(), proxyCommand: 'false' }
    await expect(pool(proxied, proxied).connection('demo').link()).rejects.toMatchObject({ stage: 'banner' })
    await pool(proxied, right).connection('demo').link()
    expect(visits).toEqual([])
  })

  it('whose socket is reset before it is used is made again', async () => {
    const right = settingsFor(server)
    const settings = { ...right, port: decoyPort(), connectTimeoutMs: 500 }
    const connecting = pool(settings, settings, 200).connection('demo').link()
    await expect.poll(() => visits.length).toBe(1)
    for (const socket of sockets) socket.resetAndDestroy()
    await expect(connecting).rejects.toMatchObject({ code: 'connect-timeout', stage: 'banner' })
    expect(visits).toHaveLength(2)
  })

  it('ends with the attempt that was given up meanwhile', async () => {
    const right = settingsFor(server)
    const leave = new AbortController()
    const settings = { ...right, port: decoyPort() }
    const connecting = pool(settings, settings, 5000).connection('demo').link(leave.signal)
    await expect.poll(() => visits.length).toBe(1)
    leave.abort()
    await expect(connecting).rejects.toThrow('cancelled')
    await expect.poll(() => visits[0]?.closed, { timeout: 8000 }).toBe(true)
  })
})

describe('the forecast', () => {
  it('is none where a command of the configuration would decide, and none is run', async () => {
    const text = `Match exec "touch ${folder}/ran"\n  Port 1\n${block('box', server)}`
    const { pool: made, file, stop } = configured(text)
    const sources = { onlyFile: file, userFile: file, systemFile: '/nonexistent', sshProgram: undefined }
    expect(await forecastSettings('box', sources)).toBeUndefined()
    expect(await forecastSettings('box\n', sources)).toBeUndefined()
    made.close()
    stop()
  })

  it('is what ssh -G says', async () => {
    const { pool: made, file, stop } = configured(block('box', server))
    const sources = { onlyFile: file, userFile: file, systemFile: '/nonexistent', sshProgram: undefined }
    const link = await made.connection('box').link()
    const { auth, host, port, user } = link.facts.settings
    expect(await forecastSettings('box', sources)).toMatchObject({ auth, host, port, user })
    stop()
  })
})
