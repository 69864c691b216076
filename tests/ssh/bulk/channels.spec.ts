/** What is done to the channels and the socket below them, on a real sshd. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { widened } from '../../../src/ssh/channel/wide-window.ts'
import { dial } from '../../../src/ssh/connection/dial.ts'
import { sendInBursts } from '../../../src/ssh/connection/in-bursts.ts'
import { useKeyObjects } from '../../../src/ssh/connection/key-objects.ts'
import { settingsFor, startRig, type Rig } from '../../support/rig.ts'

const MIB = 1024 * 1024

/** Under load TCP's own small first window makes this slow. */
const SLOW_MS = 120_000

describe('the window of a channel', () => {
  let rig: Rig
  beforeAll(async () => {
    rig = await startRig()
  })
  afterAll(() => rig.stop())

  const windowOf = (channel: object): number => (channel as { incoming: { window: number } }).incoming.window

  it('is wide, and stays so however much comes', { timeout: SLOW_MS }, async () => {
    const { exec } = await rig.machine.session()
    const channel = await exec(`head -c ${16 * MIB} /dev/zero`)
    const refill = widened(channel.stdout)
    expect(windowOf(channel.stdout)).toBe(12 * MIB)
    let [bytes, least] = [0, Infinity]
    channel.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      refill()
      least = Math.min(least, windowOf(channel.stdout))
    })
    await channel.closed
    expect(bytes).toBe(16 * MIB)
    expect(least).toBeGreaterThan(11 * MIB)
  })

  it('is left alone where it is not found', () => {
    expect(() => widened({})()).not.toThrow()
    expect(() => widened({ incoming: { window: 0 }, outgoing: { id: 1, state: 'open' } })()).not.toThrow()
  })
})

describe('a socket that sends in bursts', () => {
  it('sends what is written in one turn in one go, in its order, and nothing later than that', async () => {
    const received: Buffer[] = []
    const server = createServer((socket) => socket.on('data', (chunk) => received.push(chunk)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    sendInBursts(socket)
    for (const text of ['one ', 'two ']) socket.write(text)
    await Promise.resolve()
    socket.write('three ', 'utf8')
    expect(socket.writableLength).toBe('one two three '.length)
    await new Promise((resume) => setImmediate(resume))
    expect(socket.writableLength).toBe(0)
    socket.write('four', () => socket.end())
    await once(socket, 'close')
    expect(Buffer.concat(received).toString()).toBe('one two three four')
    server.close()
  })

  it('is what every connection is made on', async () => {
    const rig = await startRig()
    const carrier = await dial(settingsFor(rig.server), [], () => undefined)
    carrier.stream.write('SSH-2.0-')
    expect(carrier.stream.writableLength).toBeGreaterThan(0)
    carrier.close()
    await rig.stop()
  })
})

describe('the keys of a connection', () => {
  it('are key objects after each exchange, where they are for AES-GCM', async () => {
    const rig = await startRig({ sshdConfig: ['RekeyLimit 256K'] })
    const client = new ssh2.Client()
    const changed: number[] = []
    client.on('handshake', () => changed.push(useKeyObjects(client)))
    client.connect({
      host: rig.server.host,
      port: rig.server.port,
      username: rig.server.user,
      privateKey: readFileSync(rig.server.identityFile),
    })
    await once(client, 'ready')
    const bytes = await new Promise<number>((resolve, reject) =>
      client.exec(`head -c ${MIB} /dev/zero`, (error, channel) => {
        if (error) return reject(error)
        let count = 0
        channel.on('data', (chunk: Buffer) => (count += chunk.length))
        channel.on('close', () => resolve(count))
      }),
    )
    expect(bytes).toBe(MIB)
    expect(changed.length).toBeGreaterThan(1)
    expect(new Set(changed)).toEqual(new Set([2]))
    client.end()
    await rig.stop()
  })

  it('are left alone where they are not found', () => {
    expect(useKeyObjects({})).toBe(0)
    const other = { _protocol: { _cipher: { _encSSLName: 'aes-128-ctr', _encKey: Buffer.alloc(16) } } }
    expect(useKeyObjects(other)).toBe(0)
    expect(Buffer.isBuffer(other._protocol._cipher._encKey)).toBe(true)
  })
})
