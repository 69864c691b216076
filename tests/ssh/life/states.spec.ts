/** What a connection says of itself: each state once, in the order of what happens, to every listener. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RemoteFiles } from '../../../src/remote/files/remote-files.ts'
import { Machine } from '../../../src/remote/machine.ts'
import type { ConnectionState } from '../../../src/ssh/connection/machine-connection.ts'
import type { Question } from '../../../src/ssh/questions.ts'
import { startFakeServer, PLACES, type FakeServer, type Place } from '../../support/fake-server.ts'
import { poolFor, settingsFor, startRig, type Rig } from '../../support/rig.ts'
import { expectTruthful, failureOf, file, lineTo, settled, watchProcess, type Line } from './line.ts'

let rig: Rig
let fake: FakeServer
let watch: ReturnType<typeof watchProcess>
const lines: { close(): unknown }[] = []

beforeAll(async () => {
  rig = await startRig()
  fake = await startFakeServer()
  fake.ident = 'OpenSSH_9.9'
  watch = watchProcess()
  writeFileSync(join(rig.folder, 'f'), 'content')
  writeFileSync(join(fake.home, 'f'), 'content')
})
afterEach(async () => {
  fake.breaking = undefined
  for (const line of lines.splice(0)) await line.close()
  expect(watch.escaped).toEqual([])
})
afterAll(async () => {
  watch.stop()
  await fake.stop()
  await rig.stop()
})

const use = async (...args: Parameters<typeof lineTo>): Promise<Line> => {
  const line = await lineTo(...args)
  lines.push(line)
  return line
}

/** A state in one word, and what it is about. */
function told(state: ConnectionState): string {
  switch (state.kind) {
    case 'connecting':
      return `connecting ${state.stage}`
    case 'asking':
      return `asking ${state.question} at ${state.stage}`
    case 'failed':
      return `failed at ${state.stage}`
    default:
      return state.kind
  }
}

function listen(line: Pick<Line, 'connection'>): string[] {
  const heard: string[] = []
  line.connection.changes.on((state) => heard.push(told(state)))
  return heard
}

const until = async (true_: () => boolean): Promise<void> => {
  while (!true_()) await new Promise((resolve) => setTimeout(resolve, 10))
}

const CONNECTING = ['config', 'tcp', 'banner', 'key-exchange', 'host-key', 'auth'].map(
  (stage) => `connecting ${stage}`,
)

describe('a connection tells', () => {
  it('each stage of an attempt once, that it is ready, lost with its reason, and ready anew', async () => {
    const line = await use(rig.server)
    const [first, second] = [listen(line), listen(line)]
    expect(line.connection.state).toEqual({ kind: 'idle' })
    await Promise.all(Array.from({ length: 50 }, () => line.machine.session()))
    expect(first).toEqual([...CONNECTING, 'ready'])
    line.proxy.reset()
    await until(() => line.connection.state.kind === 'lost')
    expect(line.connection.state).toMatchObject({
      reason: expect.stringMatching(/^demo: the connection broke: .*ECONNRESET/) as string,
    })
    await line.machine.session()
    expect(first).toEqual([...CONNECTING, 'ready', 'lost', ...CONNECTING, 'ready'])
    expect(second).toEqual(first)
    line.connection.drop()
    expect(first.at(-1)).toBe('idle')
  })

  it('F17: what a person is asked, for as long as that takes, and nothing of it when the answer is there', async () => {
    const { hostKeys } = settingsFor(rig.server)
    const answers: ((accepted: boolean) => void)[] = []
    const asked: Question[] = []
    const ask = (question: Question): Promise<{ kind: 'yes' | 'no' }> => {
      asked.push(question)
      return new Promise((resolve) => answers.push((yes) => resolve({ kind: yes ? 'yes' : 'no' })))
    }
    const nowhere = { hostKeys: { ...hostKeys, userFiles: [join(rig.folder, 'nobody-known')] } }
    // Far less than the person takes.
    const line = await use(rig.server, { ...nowhere, connectTimeoutMs: 1000 }, { ask })
    const heard = listen(line)
    const attempt = line.connection.link()
    await until(() => answers.length === 1)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(line.connection.state).toMatchObject({ kind: 'asking', question: 'host-key', stage: 'host-key' })
    answers[0]?.(true)
    await attempt
    expect(heard).toEqual([
      ...CONNECTING.slice(0, 5),
      'asking host-key at host-key',
      ...CONNECTING.slice(4),
      'ready',
    ])
    expect(asked).toHaveLength(1)
  })

  it('F38: that the machine is silent, and that it is back', async () => {
    const line = await use(rig.server, { keepaliveIntervalMs: 200, keepaliveCountMax: 1000 })
    const heard = listen(line)
    const link = await line.connection.link()
    line.proxy.freeze()
    await until(() => line.connection.state.kind !== 'ready')
    const { state } = line.connection
    expect(state).toMatchObject({ kind: 'degraded', link })
    if (state.kind === 'degraded') expect(state.silentSince.getTime()).toBeLessThan(Date.now() - 5000)
    // It is still the connection: what is asked of it now is answered when the machine is back.
    expect(line.connection.current).toBe(link)
    const reading = line.files.readText(file(join(rig.folder, 'f')))
    line.proxy.thaw()
    expect(await reading).toBe('content')
    expect(heard).toEqual([...CONNECTING, 'ready', 'degraded', 'ready'])
  })

  it('F38: that a silent machine is given up, after which the next use finds another line', async () => {
    const line = await use(rig.server, { keepaliveIntervalMs: 300, keepaliveCountMax: 2 })
    const heard = listen(line)
    const session = await line.machine.session()
    const calls = [
      line.files.readText(file(join(rig.folder, 'f'))),
      line.files.list(file(rig.folder)),
      session.exec('true').then((channel) => channel.exit),
    ]
    await Promise.all(calls)
    line.proxy.freeze()
    const silent = [
      failureOf(session.sftp().then((sftp) => sftp.stat('/'))),
      failureOf(session.exec('true').then((channel) => channel.exit)),
      failureOf(line.files.write(file(join(rig.folder, 'never')), 'x', { kind: 'none' }, 0)),
    ]
    for (const failure of await Promise.all(silent)) {
      expect(failure).toMatchObject({ family: 'transport', machine: 'demo' })
    }
    expect(line.connection.state).toMatchObject({
      kind: 'lost',
      reason: expect.stringMatching(/^demo: .*Keepalive timeout/i) as string,
    })
    line.change = {}
    line.proxy.thaw()
    expect(await line.files.readText(file(join(rig.folder, 'f')))).toBe('content')
    expect(heard).toEqual([...CONNECTING, 'ready', 'lost', ...CONNECTING, 'ready'])
  })
})

describe('F47: an attempt that fails', () => {
  const STAGES: Partial<Record<Place, string>> = {
    banner: 'key-exchange',
    'key-exchange': 'key-exchange',
    'new-keys': 'auth',
    auth: 'auth',
  }
  // Before there are keys nobody says farewell.
  const places = PLACES.flatMap((at) =>
    (['reset', 'end', 'silence', 'disconnect'] as const)
      .filter((by) => by !== 'disconnect' || PLACES.indexOf(at) >= PLACES.indexOf('auth'))
      .map((by) => ({ at, by })),
  )

  it.each(places)(
    'F47: at the stage $at, by $by, leaves a state with its reason, and the next one is let in',
    async ({ at, by }) => {
      const pool = poolFor(() =>
        settingsFor(fake, fake.breaking === undefined ? {} : { connectTimeoutMs: 500 }),
      )
      lines.push(pool)
      const connection = pool.connection('demo')
      const heard = listen({ connection })
      const machine = new Machine(connection)
      const files = new RemoteFiles(machine)
      const request = at === 'sftp-request' ? { request: 2 } : {}
      fake.breaking = { at, by, ...request }
      connection.changes.on((state) => {
        if (state.kind === 'ready' && fake.breaking !== undefined) state.link.requestMs = 500
      })
      const outcome = await settled(files.readText(file(join(fake.home, 'f'))), 20_000, `${at} ${by}`)
      expectTruthful(connection.state, `${at} ${by}`)
      const stage = STAGES[at]
      if (stage !== undefined) {
        expect(outcome).toMatchObject({ error: { stage } })
        expect(heard.at(-1)).toBe(`failed at ${stage}`)
      }
      // A machine that was heard a moment ago is suspected only by the next request.
      if (by === 'silence' && machine.current !== undefined) {
        await settled(files.stat(file(fake.home)), 20_000, `one more request, ${at}`)
      }
      fake.breaking = undefined
      if (machine.current !== undefined) machine.current.link.requestMs = 15_000
      expect(await files.readText(file(join(fake.home, 'f')))).toBe('content')
      expect(connection.state.kind).toBe('ready')
    },
  )

  it('F47: before there is a line says whether the name or the address was the reason, and goes on later', async () => {
    let target: Parameters<typeof settingsFor>[1] = { host: 'no-such-host.invalid' }
    const pool = poolFor(() => settingsFor(rig.server, target))
    lines.push(pool)
    const connection = pool.connection('demo')
    const heard = listen({ connection })
    await failureOf(connection.link())
    expect(connection.state).toMatchObject({ kind: 'failed', stage: 'dns' })
    target = { port: 1 }
    await failureOf(connection.link())
    expect(connection.state).toMatchObject({ kind: 'failed', stage: 'tcp' })
    target = {}
    await connection.link()
    expect(heard.filter((state) => !state.startsWith('connecting'))).toEqual([
      'failed at dns',
      'failed at tcp',
      'ready',
    ])
  })

  it('F47: while its configuration is read says so', async () => {
    const pool = poolFor(() => {
      throw new Error('no such block')
    })
    lines.push(pool)
    const connection = pool.connection('demo')
    await connection.link().catch((error: unknown) => expect(error).toBeInstanceOf(Error))
    expect(connection.state).toMatchObject({ kind: 'failed', stage: 'config', reason: 'no such block' })
  })
})
