import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAddresses } from '../../../src/ssh/auth/agent-address.ts'
import { AgentError, openAgent } from '../../../src/ssh/auth/agent.ts'
import type { AgentChoice } from '../../../src/ssh/config/settings.ts'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { startAgent, startFalseAgent, type TestAgent } from '../../support/auth-agent.ts'
import { AuthBench } from '../../support/auth-bench.ts'
import { makeKey, publicLine } from '../../support/auth-keys.ts'

const bench = new AuthBench()
let server: DemoMachine
let agent: TestAgent
const nowhere = { identityFiles: [], identitiesOnly: false }

beforeAll(async () => {
  server = await bench.sshd()
  agent = bench.keep(await startAgent(bench.path('agent')))
  agent.add(server.identityFile)
})
afterAll(() => bench.close())

describe('an agent', () => {
  it('F19: is the one that the configuration names, whatever the environment says', async () => {
    const path = agent.env.SSH_AUTH_SOCK
    const dead = { SSH_AUTH_SOCK: bench.path('dead') }
    const named = { ...nowhere, agent: { kind: 'path', path } as const }
    expect(await bench.method(server, { auth: named, env: dead })).toContain('(agent)')
    expect(await bench.method(server, { auth: nowhere, env: agent.env })).toContain('(agent)')
    const none = { ...nowhere, agent: { kind: 'none' } as const }
    const failure = await bench.failure(server, { auth: none, env: agent.env })
    expect(failure.message).toContain('tried: nothing')
  })

  it('F19: that is dead is passed over, and named when nothing else lets us in', async () => {
    const env = { SSH_AUTH_SOCK: bench.path('dead') }
    expect(await bench.method(server, { env })).toBe(`publickey ${server.identityFile}`)
    const failure = await bench.failure(server, { auth: nowhere, env })
    expect(failure.message).toContain(`agent ${env.SSH_AUTH_SOCK}: `)
  })

  it('that is silent does not hold a connect up for longer than its own limit, even a shorter one', async () => {
    const silent = bench.keep(await startFalseAgent(bench.path('silent'), () => undefined))
    const quick = { connectTimeoutMs: 1000 }
    const method = await bench.method(server, { env: silent.env, settings: quick })
    expect(method).toBe(`publickey ${server.identityFile}`)
    await expect.poll(() => silent.connections).toBe(0)
  })

  it.each([
    ['hangs up', (_request: Buffer, connection: { destroy(): unknown }) => void connection.destroy()],
    ['promises more than any agent sends', () => Buffer.from([0xff, 0xff, 0xff, 0xff, 12])],
    ['answers with nothing', () => Buffer.from([0, 0, 0, 0])],
    ['refuses', () => Buffer.from([0, 0, 0, 1, 5])],
    ['lists keys that are cut short', () => Buffer.from([0, 0, 0, 7, 12, 0, 0, 0, 9, 0, 0])],
  ] as const)('that %s is an error of the agent, and the key files serve', async (what, answer) => {
    const socket = bench.path(`false-${what.replaceAll(' ', '-')}`)
    const rude = bench.keep(
      await startFalseAgent(
        socket,
        (request, connection) => answer(request, connection) as Buffer | undefined,
      ),
    )
    await expect(openAgent(socket, 'linux')).rejects.toBeInstanceOf(AgentError)
    expect(await bench.method(server, { env: rude.env })).toBe(`publickey ${server.identityFile}`)
  })

  it('that lists a key and then refuses to sign with it loses only that key', async () => {
    const listing = await openAgent(agent.env.SSH_AUTH_SOCK, 'linux')
    const [key] = listing.keys
    if (key === undefined) throw new Error('the agent is empty')
    const list = Buffer.concat([Buffer.from([12, 0, 0, 0, 1]), field(key.blob), field('mine')])
    const refusing = bench.keep(
      await startFalseAgent(bench.path('refusing'), ([type]) => field(type === 11 ? list : Buffer.from([5]))),
    )
    const failure = await bench.failure(server, { auth: nowhere, env: refusing.env })
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect(failure.message).toContain('mine (agent): it refused to sign')
    const copy = { ...nowhere, identityFiles: [server.identityFile] }
    // The same key again is no second offer: it is in the agent. So the agent is what is named.
    expect((await bench.failure(server, { auth: copy, env: refusing.env })).message).toContain(
      'refused to sign',
    )
  })

  it('that refuses to sign is not taken for a proof, although another key was accepted before', async () => {
    const [first, second] = ['proof-1', 'proof-2'].map((name) => makeKey(bench.folder, name))
    if (first === undefined || second === undefined) throw new Error('two keys were made')
    writeFileSync(bench.path('proofs'), `${publicLine(first)}\n${publicLine(second)}\n`)
    const strict = await bench.sshd([
      'AuthenticationMethods publickey,publickey',
      `AuthorizedKeysFile ${bench.path('proofs')}`,
    ])
    const blob = Buffer.from(publicLine(second).split(' ')[1] ?? '', 'base64')
    const list = Buffer.concat([Buffer.from([12, 0, 0, 0, 1]), field(blob), field('mine')])
    const refusing = bench.keep(
      await startFalseAgent(bench.path('refusing-2'), ([type]) =>
        field(type === 11 ? list : Buffer.from([5])),
      ),
    )
    const auth = { identityFiles: [first], identitiesOnly: false }
    const { message } = await bench.failure(strict, { auth, env: refusing.env })
    expect(message).toContain(`accepted, but not enough: publickey ${first};`)
    expect(message).toContain('mine (agent): it refused to sign')
  })

  it('signs with RSA keys by SHA-2, and with ECDSA keys', async () => {
    const own = bench.keep(await startAgent(bench.path('kinds')))
    for (const type of ['rsa', 'ecdsa']) {
      const key = makeKey(bench.folder, `agent-${type}`, { type })
      own.run('-q', '-D')
      own.add(key)
      const file = bench.path(`authorized-${type}`)
      writeFileSync(file, `${publicLine(key)}\n`)
      const strict = await bench.sshd([`AuthorizedKeysFile ${file}`])
      expect(await bench.method(strict, { auth: nowhere, env: own.env })).toContain(`agent-${type} (agent)`)
    }
  })
})

describe('the address of an agent', () => {
  const pipe = '\\\\.\\pipe\\openssh-ssh-agent'
  it.each<[string, AgentChoice, NodeJS.ProcessEnv, NodeJS.Platform, readonly string[]]>([
    ['none', { kind: 'none' }, { SSH_AUTH_SOCK: '/a' }, 'linux', []],
    ['a path', { kind: 'path', path: '/b' }, { SSH_AUTH_SOCK: '/a' }, 'linux', ['/b']],
    ['the environment', { kind: 'environment' }, { SSH_AUTH_SOCK: '/a' }, 'linux', ['/a']],
    ['an environment without one', { kind: 'environment' }, {}, 'darwin', []],
    ['an empty environment', { kind: 'environment' }, { SSH_AUTH_SOCK: '' }, 'linux', []],
    ['Windows without one', { kind: 'environment' }, {}, 'win32', [pipe, 'pageant']],
    [
      'Windows with slashes',
      { kind: 'environment' },
      { SSH_AUTH_SOCK: '//./pipe/openssh-ssh-agent' },
      'win32',
      [pipe],
    ],
    [
      'Windows with a path of MSYS',
      { kind: 'environment' },
      { SSH_AUTH_SOCK: '/tmp/s' },
      'win32',
      ['/tmp/s'],
    ],
  ])('F19: is found for %s', (_what, choice, env, platform, paths) => {
    expect(agentAddresses(choice, env, platform).map(({ path }) => path)).toEqual(paths)
  })
})

function field(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
