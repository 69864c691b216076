/** Connections by way of other machines and of commands, on real servers. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { ConnectError, LinkLostError } from '../../src/ssh/errors.ts'
import type { Link } from '../../src/ssh/connection/link.ts'
import { outputOf } from '../support/command-output.ts'
import { block, configured, type Configured } from '../support/configured.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'

const folder = mkdtempSync('/var/tmp/presence-hops-')
const names = ['bastion', 'inner', 'box'] as const
const machines = new Map<string, DemoMachine>()
const machine = (name: (typeof names)[number]): DemoMachine => {
  const found = machines.get(name)
  if (found === undefined) throw new Error(`${name} was not started`)
  return found
}

let open: (Configured | { stop(): void })[] = []
function use(text: string): Configured {
  const made = configured(text)
  open.push(made)
  return made
}

beforeAll(async () => {
  for (const alias of names) {
    machines.set(
      alias,
      await startOpenSsh({
        folder: join(folder, alias),
        alias,
        sshdConfig: ['ListenAddress ::1', `SetEnv MACHINE=${alias}`],
      }),
    )
  }
})
afterEach(() => {
  for (const each of open) each.stop()
  open = []
})
afterAll(async () => {
  for (const each of machines.values()) await each.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function output(link: Link, command: string): Promise<string> {
  return (await outputOf((line) => link.exec(line), command)).trim()
}

async function failureOf(attempt: Promise<unknown>): Promise<ConnectError> {
  const failure = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(ConnectError)
  return failure as ConnectError
}

/** The bastion behind a proxy that counts and cuts its connections, and the block for it. */
async function proxiedBastion(): Promise<{ proxy: Proxy; text: string }> {
  const bastion = machine('bastion')
  const proxy = await startProxy({ host: '127.0.0.1', port: bastion.port })
  open.push({ stop: () => void proxy.close() })
  const known = join(folder, `known-${proxy.port}`)
  const text = readFileSync(bastion.knownHostsFile, 'utf8')
  writeFileSync(known, text.replaceAll(String(bastion.port), String(proxy.port)))
  return { proxy, text: block('bastion', bastion, `Port ${proxy.port}`, `UserKnownHostsFile ${known}`) }
}

describe('a jump host', () => {
  it('F14: is entered with its own user and key, and the machine behind it with that of the machine', async () => {
    const { pool } = use(
      block('bastion', machine('bastion')) + block('box', machine('box'), 'ProxyJump bastion'),
    )
    const link = await pool.connection('box').link()
    expect(await output(link, 'echo $MACHINE; echo $SSH_CONNECTION')).toMatch(/^box\n/)
    expect(link.facts.method).toContain(machine('box').identityFile)
    expect(link.facts.address).toContain('through bastion')
    expect(link.facts.stages.map(({ stage }) => stage)).toContain('proxy')
  })

  it('leads to another one, in the order of a list and by the own blocks of the hops alike', async () => {
    const ends = [machine('bastion'), machine('inner'), machine('box')] as const
    const listed =
      block('bastion', ends[0]) + block('inner', ends[1]) + block('box', ends[2], 'ProxyJump bastion,inner')
    const nested =
      block('bastion', ends[0]) +
      block('inner', ends[1], 'ProxyJump bastion') +
      block('box', ends[2], 'ProxyJump inner')
    for (const text of [listed, nested]) {
      const { pool } = use(text)
      const link = await pool.connection('box').link()
      expect(await output(link, 'echo $MACHINE')).toBe('box')
      expect(link.facts.address).toMatch(/through inner \(.*through bastion \(/)
    }
  })

  it('F13: called none is no jump host, and the hop itself is excepted from a jump for all', async () => {
    const { pool } = use(
      block('bastion', machine('bastion'), 'ProxyJump none') +
        block('box', machine('box')) +
        'Host *\n  ProxyJump bastion\n',
    )
    expect((await pool.connection('bastion').link()).facts.address).not.toContain('through')
    expect((await pool.connection('box').link()).facts.address).toContain('through bastion')
  })

  it.each([
    ['a jump for all', 'Host *\n  ProxyJump bastion\n', 'its jump host bastion: '],
    [
      'two that lead to each other',
      'Host box\n  ProxyJump bastion\nHost bastion\n  ProxyJump box\n',
      'box → bastion → box',
    ],
    [
      'a circle behind the first hop',
      'Host box\n  ProxyJump one\nHost one\n  ProxyJump two\nHost two\n  ProxyJump one\n',
      'box → one → two → one',
    ],
  ])(
    'F13: in a circle is an error that names the circle and connects to nothing: %s',
    async (_what, text, circle) => {
      const failure = await failureOf(use(text).pool.connection('box').link())
      expect(failure.code).toBe('bad-config')
      expect(failure.message).toContain(circle)
    },
  )

  it('F35: is refused with a wrong host key, and so is the machine behind it, each by its name', async () => {
    const wrong = join(folder, 'wrong-known-hosts')
    for (const name of ['bastion', 'box'] as const) {
      const [, key] = readFileSync(machine('inner').knownHostsFile, 'utf8').split(/ (.*)/)
      writeFileSync(wrong, `[127.0.0.1]:${machine(name).port} ${key ?? ''}`)
      const bad = `UserKnownHostsFile ${wrong}`
      const { pool } = use(
        block('bastion', machine('bastion'), ...(name === 'bastion' ? [bad] : [])) +
          block('box', machine('box'), 'ProxyJump bastion', ...(name === 'box' ? [bad] : [])),
      )
      const failure = await failureOf(pool.connection('box').link())
      expect(failure).toMatchObject({ code: 'host-key-changed', stage: 'host-key', machine: 'box' })
      expect(failure.message).toMatch(
        name === 'bastion' ? /^box: its jump host bastion: / : /^box: ITS HOST KEY/,
      )
    }
  })

  it('that cannot reach the machine says so in its own words', async () => {
    const { pool } = use(
      block('bastion', machine('bastion')) + block('box', machine('box'), 'Port 1', 'ProxyJump bastion'),
    )
    const failure = await failureOf(pool.connection('box').link())
    expect(failure).toMatchObject({ code: 'unreachable', stage: 'proxy' })
    expect(failure.message).toMatch(
      /box: its jump host bastion: cannot connect to 127\.0\.0\.1 port 1: .*refused/i,
    )
  })

  it('that cannot be reached or lets nobody in is named in the error', async () => {
    const key = join(folder, 'stranger')
    copyFileSync(machine('box').identityFile, key)
    const dead = use(
      block('bastion', machine('bastion'), 'Port 1') + block('box', machine('box'), 'ProxyJump bastion'),
    )
    const unreachable = await failureOf(dead.pool.connection('box').link())
    expect(unreachable).toMatchObject({ code: 'unreachable', stage: 'tcp' })
    expect(unreachable.message).toMatch(/^box: its jump host bastion: connection refused/)
    const closed = use(
      block('bastion', machine('bastion'), `IdentityFile ${key}`).replace(
        `IdentityFile ${machine('bastion').identityFile}\n`,
        '\n',
      ) + block('box', machine('box'), 'ProxyJump bastion'),
    )
    const refused = await failureOf(closed.pool.connection('box').link())
    expect(refused).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect(refused.message).toMatch(/^box: its jump host bastion: authentication as .* failed/)
  })

  it('F40: whose connection is reset ends the connection behind it, by name, and the next use connects anew', async () => {
    const { proxy, text } = await proxiedBastion()
    const { pool } = use(text + block('box', machine('box'), 'ProxyJump bastion'))
    const connection = pool.connection('box')
    const link = await connection.link()
    const channel = await link.exec('sleep 30')
    proxy.reset()
    await channel.closed
    expect(link.dead.reason).toBeInstanceOf(LinkLostError)
    expect((link.dead.reason as Error).message).toContain('jump host')
    expect(connection.state).toMatchObject({ kind: 'lost' })
    expect(await output(await connection.link(), 'echo $MACHINE')).toBe('box')
  })

  it('is let go with the connection that went through it', async () => {
    const { proxy, text } = await proxiedBastion()
    const { pool } = use(text + block('box', machine('box'), 'ProxyJump bastion'))
    const link = await pool.connection('box').link()
    expect(proxy.connections).toBe(1)
    link.end()
    await expect.poll(() => proxy.connections).toBe(0)
  })

  it('F49: and a machine may be addressed by IPv6, with and without brackets', async () => {
    const known = join(folder, 'known-v6')
    const lines = (['bastion', 'box'] as const).map((name) =>
      readFileSync(machine(name).knownHostsFile, 'utf8').replaceAll('127.0.0.1', '::1'),
    )
    writeFileSync(known, lines.join('\n'))
    const here = `UserKnownHostsFile ${known}`
    const jump = `${machine('bastion').user}@[::1]:${machine('bastion').port}`
    const { pool } = use(
      block('::1', machine('bastion'), here, 'HostName ::1') +
        block('box', machine('box'), here, 'HostName [::1]', `ProxyJump ${jump}`),
    )
    expect(await output(await pool.connection('box').link(), 'echo $MACHINE')).toBe('box')
  })
})

describe('a proxy command', () => {
  const via = (name: string): string => `ProxyCommand ssh -F "%CONFIG%" -o LogLevel=ERROR -W %h:%p ${name}`

  it('F11: is given to the shell byte for byte, = and # included, and carries the connection', async () => {
    const { pool } = use(
      block('bastion', machine('bastion')) +
        block('box', machine('box'), `${via('bastion')} # it's "=" fine`),
    )
    expect(await output(await pool.connection('box').link(), 'echo $MACHINE')).toBe('box')
  })

  it('ends with the connection, with all that it has started', async () => {
    const mark = `presence-mark-${process.pid}`
    const command = `sh -c 'sleep 1000 & : ${mark}; ssh -F "%CONFIG%" -W %h:%p bastion; :'`
    const { proxy, text } = await proxiedBastion()
    const { pool } = use(text + block('box', machine('box'), `ProxyCommand ${command}`))
    const link = await pool.connection('box').link()
    const running = async (): Promise<number> =>
      Number(execFileSync('sh', ['-c', `pgrep -fc '[p]resence-mark-${process.pid}' || :`]).toString())
    expect(await running()).toBeGreaterThan(0)
    link.end()
    await expect.poll(running).toBe(0)
    await expect.poll(() => proxy.connections).toBe(0)
  })

  it.each([
    ['that fails', `ProxyCommand sh -c 'echo no way there >&2; exit 7'`, /ended with status 7: no way there/],
    ['that is not there', 'ProxyCommand /no/such/program', /ended with status 127: .*no\/such\/program/],
    ['that ends without a word', 'ProxyCommand true', /ended with status 0/],
  ])('%s is told with its own words', async (_what, line, expected) => {
    const failure = await failureOf(
      use(block('box', machine('box'), line))
        .pool.connection('box')
        .link(),
    )
    expect(failure.code).toBe('unreachable')
    expect(failure.message).toMatch(expected)
  })

  it('that never connects is ended by the deadline of the connection', async () => {
    const mark = 'sleep 1234.5'
    const { pool } = use(block('box', machine('box'), `ProxyCommand ${mark}`, 'ConnectTimeout 1'))
    const failure = await failureOf(pool.connection('box').link())
    expect(failure).toMatchObject({ code: 'connect-timeout', stage: 'banner' })
    await expect
      .poll(() => execFileSync('sh', ['-c', `pgrep -fc '[s]leep 1234.5' || :`]).toString().trim())
      .toBe('0')
  })

  it('whose process is killed ends the connection, and the reason names it', async () => {
    const { pool } = use(block('bastion', machine('bastion')) + block('box', machine('box'), via('bastion')))
    const link = await pool.connection('box').link()
    const [pid] = execFileSync('pgrep', ['-f', `ssh -F .*-W 127.0.0.1:${machine('box').port}`])
      .toString()
      .split('\n')
    process.kill(Number(pid))
    await expect.poll(() => link.alive).toBe(false)
    expect(pool.connection('box').state.kind).toBe('lost')
  })
})
