/** Faults that others have had with the beginning of a connection; docs/faults.md tells which are tested where. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { startAgent } from '../../support/auth-agent.ts'
import { block, configured } from '../../support/configured.ts'
import { startFakeServer } from '../../support/fake-server.ts'
import { poolFor, settingsFor, startRig, type Rig } from '../../support/rig.ts'
import { failureOf, file, lineTo, settled } from './line.ts'

const folder = mkdtempSync('/var/tmp/presence-life-')
const open: { close(): unknown }[] = []
let rig: Rig
beforeAll(async () => {
  rig = await startRig({ sshdConfig: ['ListenAddress ::1'] })
})
afterEach(async () => {
  vi.useRealTimers()
  for (const one of open.splice(0)) await one.close()
})
afterAll(async () => {
  await rig.stop()
  rmSync(folder, { recursive: true, force: true })
})

function keep<T extends { close(): unknown }>(one: T): T {
  open.push(one)
  return one
}

describe('a server that is slow to say who it is', () => {
  /** Time that passes only as told; sockets go on as always. */
  const stopTime = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  it.each([
    { limit: 'that ConnectTimeout gives', connectTimeoutMs: 20_000, answersAfterMs: 19_999 },
    { limit: 'that holds without one', connectTimeoutMs: undefined, answersAfterMs: 14_999 },
  ])('F20: is waited for as long as the time $limit', async ({ connectTimeoutMs, answersAfterMs }) => {
    const line = keep(await lineTo(rig.server, { connectTimeoutMs }))
    line.proxy.freeze()
    stopTime()
    const attempt = line.connection.link()
    const atBanner = { kind: 'connecting', stage: 'banner' }
    while (line.connection.state.kind !== 'connecting' || line.connection.state.stage !== 'banner')
      await turn()
    vi.advanceTimersByTime(answersAfterMs)
    await turn()
    expect(line.connection.state).toMatchObject(atBanner)
    line.proxy.thaw()
    expect((await attempt).alive).toBe(true)
  })

  it('F20: is given up after that, with the stage', async () => {
    const line = keep(await lineTo(rig.server))
    line.proxy.freeze()
    stopTime()
    const attempt = line.connection.link().catch((error: unknown) => error)
    while (line.connection.state.kind !== 'connecting' || line.connection.state.stage !== 'banner')
      await turn()
    vi.advanceTimersByTime(15_000)
    expect(await attempt).toMatchObject({ code: 'connect-timeout', stage: 'banner' })
  })

  it('F50: may say thirty lines first, and pause, and is heard out', async () => {
    const line = keep(await lineTo(rig.server))
    const words = Array.from({ length: 30 }, (_, index) => `Line ${index} of what the owner has to say`)
    line.proxy.preamble = `${words.join('\r\n')}\r\n`
    line.proxy.freeze()
    const attempt = line.connection.link()
    await new Promise((resolve) => setTimeout(resolve, 300))
    line.proxy.thaw()
    const { facts } = await attempt
    expect(facts.ident).toMatch(/^SSH-2\.0-OpenSSH/)
    for (const word of words) expect(facts.greeting).toContain(word)
  })

  it('F50: may show a banner of many pages, and one that no packet holds is an error that tells the stage', async () => {
    const fake = await startFakeServer()
    open.push({ close: () => fake.stop() })
    const pool = keep(poolFor(() => settingsFor(fake)))
    const connection = pool.connection('demo')
    fake.banner = 'All rules of this machine, at length.\r\n'.repeat(750)
    expect((await connection.link()).facts.greeting).toBe(fake.banner)
    connection.drop()
    fake.banner = fake.banner.repeat(8)
    expect(await failureOf(connection.link())).toMatchObject({ code: 'closed', stage: 'auth' })
  })
})

describe('addresses', () => {
  it.each([
    ['inet', /^127\.0\.0\.1:/],
    ['inet6', /^::1:|^no /],
  ] as const)(
    'F49: of a kind that AddressFamily %s rules out are not taken',
    async (addressFamily, address) => {
      const { hostKeys } = settingsFor(rig.server)
      const known = { ...hostKeys, alias: `[127.0.0.1]:${rig.server.port}` }
      const pool = keep(
        poolFor(() => settingsFor(rig.server, { host: 'localhost', addressFamily, hostKeys: known })),
      )
      const attempt = pool.connection('demo').link()
      // The name may have no address of the kind on this computer.
      const outcome = await settled(attempt, 20_000, 'the attempt')
      expect('error' in outcome ? `no ${addressFamily}` : outcome.value.facts.address).toMatch(address)
    },
  )

  it('F53: that the system lets nobody reach are told with the permission that may be missing', () => {
    const dial = new URL('../../../src/ssh/connection/dial.ts', import.meta.url)
    const script = `
      const { dial } = await import(${JSON.stringify(dial)})
      for (const host of ['10.9.9.9', '10.8.8.8']) {
        const settings = { alias: 'box', host, port: 22, addressFamily: 'any', bindAddress: undefined }
        const error = await dial(settings, [], () => undefined).catch((error) => error)
        console.log(JSON.stringify({ code: error.code, stage: error.stage, cause: error.cause.code, message: error.message }))
      }`
    // A network of its own, where one address is unreachable and the others have no route.
    const network = 'ip link set lo up && ip route add unreachable 10.9.9.9 && exec "$@"'
    const argv = [process.execPath, '--input-type=module', '--eval', script]
    const own = process.getuid?.() === 0 ? '-n' : '-rn'
    const told = execFileSync('unshare', [own, 'sh', '-c', network, 'sh', ...argv], { encoding: 'utf8' })
    const errors = told
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    expect(errors.map(({ cause }) => cause)).toEqual(['EHOSTUNREACH', 'ENETUNREACH'])
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'unreachable', stage: 'tcp' })
      expect(error['message']).toMatch(
        /^box: no route to 10\.\d\.\d\.\d port 22 .*not allowed on the local network/,
      )
    }
  })
})

describe('RSA', () => {
  const makeKey = (name: string): string => {
    const path = join(folder, name)
    execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-b', '2048', '-N', '', '-f', path])
    return path
  }

  it('F52: a server that has nothing but ssh-rsa is reached where the configuration adds it, and named where it is taken away', async () => {
    const hostKey = makeKey('host-rsa')
    const old = await startRig({ sshdConfig: [`HostKey ${hostKey}`, 'HostKeyAlgorithms ssh-rsa'] })
    open.push({ close: () => old.stop() })
    const known = join(folder, 'known-rsa')
    writeFileSync(known, `[127.0.0.1]:${old.server.port} ${readFileSync(`${hostKey}.pub`, 'utf8')}`)
    const hosts = configured(
      block('old', old.server, 'HostKeyAlgorithms +ssh-rsa', `UserKnownHostsFile ${known}`) +
        block('strict', old.server, 'HostKeyAlgorithms ssh-ed25519', `UserKnownHostsFile ${known}`),
    )
    open.push({ close: () => hosts.stop() })
    const link = await hosts.pool.connection('old').link()
    expect(link.facts.hostKey?.type).toBe('ssh-rsa')
    expect(await failureOf(hosts.pool.connection('strict').link())).toMatchObject({
      code: 'no-common-algorithm',
      machine: 'strict',
    })
  })

  it.each(['file', 'agent'] as const)(
    'F52: a key in a %s signs with SHA-2 for a server that takes no SHA-1',
    async (where) => {
      const key = makeKey(`user-${where}`)
      const strict = await startRig({ sshdConfig: ['PubkeyAcceptedAlgorithms rsa-sha2-256,rsa-sha2-512'] })
      open.push({ close: () => strict.stop() })
      const allowed = join(dirname(strict.folder), 'authorized_keys')
      appendFileSync(allowed, readFileSync(`${key}.pub`, 'utf8'))
      const agent = where === 'agent' ? keep(await startAgent(join(folder, 'agent'))) : undefined
      agent?.add(key)
      const { auth } = settingsFor(strict.server)
      const identityFiles = where === 'agent' ? [] : [key]
      const change = { auth: { ...auth, identityFiles, identitiesOnly: false } }
      const pool = keep(poolFor(() => settingsFor(strict.server, change), undefined, { ...agent?.env }))
      const link = await pool.connection('demo').link()
      expect(link.facts.method).toContain(where === 'agent' ? '(agent)' : key)
    },
  )
})

describe('a server whose answers are wrong', () => {
  it('is believed in each of its statuses, and a late answer is waited for', async () => {
    const fake = await startFakeServer()
    open.push({ close: () => fake.stop() })
    const line = keep(await lineTo(fake))
    writeFileSync(join(fake.home, 'f'), 'content')
    const target = file(join(fake.home, 'f'))
    expect(await line.files.readText(target)).toBe('content')
    fake.judge = ({ name }) => (name === 'open' ? { status: 3 } : 'answer')
    expect(await failureOf(line.files.readText(target))).toMatchObject({ code: 'permission-denied' })
    fake.judge = ({ name }) => (name === 'open' ? { status: 4 } : 'answer')
    expect(await failureOf(line.files.readText(target))).toMatchObject({ code: 'io' })
    fake.judge = ({ name }) => (name === 'stat' || name === 'lstat' ? { status: 2 } : 'answer')
    expect(await failureOf(line.files.readText(target))).toMatchObject({ code: 'not-found' })
    fake.judge = ({ name }) => (name === 'read' ? { late: 400 } : 'answer')
    expect(await line.files.readText(target)).toBe('content')
    // A packet that lies about its length ends the channel, not the connection.
    const { link } = await line.machine.session()
    fake.judge = ({ name }) => (name === 'read' ? { bytes: Buffer.from('Welcome to the machine') } : 'answer')
    expect(await failureOf(line.files.readText(target))).toMatchObject({ family: 'transport' })
    fake.judge = () => 'answer'
    expect(await line.files.readText(target)).toBe('content')
    expect((await line.machine.session()).link).toBe(link)
  })
})
