import { createServer, type AddressInfo, type Server } from 'node:net'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { RemoteFiles } from '../../src/remote/files/remote-files.ts'
import { Machine } from '../../src/remote/machine.ts'
import { ConnectError, LinkLostError } from '../../src/ssh/errors.ts'
import type { ConnectionPool } from '../../src/ssh/connection/pool.ts'
import type { MachineSettings } from '../../src/ssh/config/settings.ts'
import type { Answer, Question } from '../../src/ssh/questions.ts'
import { startPasswordServer, type PasswordServer } from '../support/password-server.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { poolFor, settingsFor, startRig, type Rig } from '../support/rig.ts'

let rig: Rig
const open: { close(): unknown }[] = []
const folder = mkdtempSync(join(tmpdir(), 'presence-connection-'))

beforeAll(async () => {
  rig = await startRig()
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})
afterAll(async () => {
  await rig.stop()
  rmSync(folder, { recursive: true, force: true })
})

function pool(
  change: Partial<MachineSettings> = {},
  ask?: (question: Question) => Answer,
  env: NodeJS.ProcessEnv = {},
): ConnectionPool {
  const questions =
    ask === undefined ? undefined : { ask: (question: Question) => Promise.resolve(ask(question)) }
  const made = poolFor(() => settingsFor(rig.server, change), questions, env)
  open.push(made)
  return made
}

async function proxied(): Promise<{
  proxy: Proxy
  machine: Machine
  files: RemoteFiles
  pool: ConnectionPool
}> {
  const proxy = await startProxy({ host: '127.0.0.1', port: rig.server.port })
  const known = join(folder, `known-${proxy.port}`)
  const line = readFileSync(rig.server.knownHostsFile, 'utf8').replaceAll(
    String(rig.server.port),
    String(proxy.port),
  )
  writeFileSync(known, line)
  const settings = settingsFor(rig.server, { port: proxy.port })
  const through = pool({ port: proxy.port, hostKeys: { ...settings.hostKeys, userFiles: [known] } })
  open.push(proxy)
  const machine = new Machine(through.connection('demo'))
  return { proxy, machine, files: new RemoteFiles(machine), pool: through }
}

const failureOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('connecting', () => {
  it('is one handshake for fifty callers', async () => {
    const { proxy, machine } = await proxied()
    const sessions = await Promise.all(Array.from({ length: 50 }, () => machine.session()))
    expect(new Set(sessions).size).toBe(1)
    expect(proxy.connections).toBe(1)
  })

  it('knows its stages, method and host key', async () => {
    const { link } = await rig.machine.session()
    const stages = link.facts.stages.map(({ stage }) => stage)
    expect(stages).toEqual(['config', 'tcp', 'banner', 'key-exchange', 'host-key', 'auth'])
    expect(link.facts).toMatchObject({
      ident: expect.stringMatching(/^SSH-2.0-OpenSSH/) as string,
      method: expect.stringContaining('publickey') as string,
    })
    const shown = execFileSync('ssh-keygen', ['-lf', rig.server.knownHostsFile]).toString()
    expect(shown).toContain(link.facts.hostKey?.sha256)
  })

  it.each<[string, Partial<MachineSettings>, object]>([
    ['a refused port', { port: 1 }, { code: 'unreachable', stage: 'tcp' }],
    ['a name that does not exist', { host: 'no-such-host.invalid' }, { code: 'unreachable', stage: 'dns' }],
    [
      'algorithms that nobody here speaks',
      {
        algorithms: {
          ciphers: { how: 'replace', patterns: ['none-such'] },
          macs: undefined,
          keyExchange: undefined,
          hostKeys: undefined,
        },
      },
      { code: 'no-common-algorithm' },
    ],
  ])('fails with stage and reason for %s', async (_what, change, expected) => {
    const failure = await failureOf(pool(change).connection('demo').link())
    expect(failure).toBeInstanceOf(ConnectError)
    expect(failure).toMatchObject({
      ...expected,
      machine: 'demo',
      message: expect.stringMatching(/^demo: /) as string,
    })
  })

  it('names a server that does not speak SSH, and one that says nothing', async () => {
    const servers: Server[] = []
    const listen = async (greeting: string | undefined): Promise<number> => {
      const server = createServer((socket) => {
        if (greeting === undefined) return
        socket.end(greeting)
      })
      servers.push(server)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return (server.address() as AddressInfo).port
    }
    const http = await failureOf(
      pool({ port: await listen('HTTP/1.1 400 Bad Request\r\n\r\n') })
        .connection('demo')
        .link(),
    )
    expect(http).toMatchObject({ code: expect.stringMatching(/not-ssh|closed/) as string })
    const silent = pool({ port: await listen(undefined), connectTimeoutMs: 300 })
    expect(await failureOf(silent.connection('demo').link())).toMatchObject({
      code: 'connect-timeout',
      stage: 'banner',
    })
    for (const server of servers) server.close()
  })
})

describe('host keys', () => {
  const noKeys = (): Partial<MachineSettings> => {
    const { hostKeys } = settingsFor(rig.server)
    return { hostKeys: { ...hostKeys, userFiles: [join(folder, 'empty-known-hosts')] } }
  }

  it('F37: that are unknown are refused with type, fingerprint and what to do, when nobody can be asked', async () => {
    const failure = await failureOf(pool(noKeys()).connection('demo').link())
    expect(failure).toMatchObject({ code: 'host-key-unknown', stage: 'host-key' })
    expect((failure as Error).message).toMatch(
      /ssh-ed25519 SHA256:\S+.*accept it once in a terminal: ssh -o UserKnownHostsFile=.*-p \d+ \w+@127/s,
    )
  })

  it('are remembered when a person accepts them, and refused when the person does not', async () => {
    const file = join(folder, 'learnt')
    const { hostKeys } = settingsFor(rig.server)
    const learning = { hostKeys: { ...hostKeys, userFiles: [file] } }
    const asked: Question[] = []
    const refusing = pool(learning, (question) => {
      asked.push(question)
      return { kind: 'no' }
    })
    expect(await failureOf(refusing.connection('demo').link())).toMatchObject({ code: 'host-key-unknown' })
    expect(asked).toMatchObject([{ kind: 'host-key', keyType: 'ssh-ed25519' }])
    await pool(learning, () => ({ kind: 'yes' }))
      .connection('demo')
      .link()
    await pool(learning).connection('demo').link()
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(1)
  })

  it('F31: that changed are refused with both fingerprints and the line', async () => {
    const file = join(folder, 'changed')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'other-host')])
    const other = readFileSync(join(folder, 'other-host.pub'), 'utf8')
    writeFileSync(file, `# a comment\n[127.0.0.1]:${rig.server.port} ${other}`)
    const { hostKeys } = settingsFor(rig.server)
    const failure = await failureOf(
      pool({ hostKeys: { ...hostKeys, userFiles: [file] } })
        .connection('demo')
        .link(),
    )
    expect(failure).toMatchObject({ code: 'host-key-changed' })
    expect((failure as Error).message).toContain(`${file}:2`)
    expect((failure as Error).message.match(/SHA256:/g)).toHaveLength(2)
  })

  it('of a type that is not among the known ones are accepted by nobody but a person', async () => {
    const file = join(folder, 'other-type')
    execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-N', '', '-f', join(folder, 'rsa-host')])
    writeFileSync(
      file,
      `[127.0.0.1]:${rig.server.port} ${readFileSync(join(folder, 'rsa-host.pub'), 'utf8')}`,
    )
    const { hostKeys } = settingsFor(rig.server)
    const known = { ...hostKeys, userFiles: [file] }
    const automatic = pool({ hostKeys: { ...known, policy: 'accept-new' } })
    expect(await failureOf(automatic.connection('demo').link())).toMatchObject({ code: 'host-key-changed' })
    const unattended = (await failureOf(pool({ hostKeys: known }).connection('demo').link())) as Error
    expect(unattended).toMatchObject({ code: 'host-key-changed' })
    // `ssh` would refuse a command that should accept it.
    expect(unattended.message).toContain(`known are ssh-rsa (${file}:1)`)
    expect(unattended.message).not.toContain('accept it once')
    const asked: Question[] = []
    const person = pool({ hostKeys: known }, (question) => {
      asked.push(question)
      return { kind: 'yes' }
    })
    await person.connection('demo').link()
    expect(asked).toMatchObject([{ kind: 'host-key', otherTypesKnown: true }])
  })
})

describe('authentication', () => {
  const auth = (change: Partial<MachineSettings['auth']>): Partial<MachineSettings> => ({
    auth: { ...settingsFor(rig.server).auth, ...change },
  })

  it('with a wrong key says what was tried and what the server takes', async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'stranger')])
    const failure = await failureOf(
      pool(auth({ identityFiles: [join(folder, 'stranger'), join(folder, 'absent')] }))
        .connection('demo')
        .link(),
    )
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect((failure as Error).message).toMatch(/tried: publickey .*stranger; the server accepts: publickey/)
  })

  it('asks for the passphrase of an encrypted key once, and not at all when nobody is there', async () => {
    const key = join(folder, 'locked')
    execFileSync('cp', [rig.server.identityFile, key])
    execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'open sesame', '-f', key])
    const asked: Question[] = []
    const answers = ['wrong', 'open sesame']
    const asking = pool(auth({ identityFiles: [key] }), (question) => {
      asked.push(question)
      return { kind: 'text', text: answers.shift() ?? '' }
    })
    await asking.connection('demo').link()
    asking.connection('demo').drop()
    await asking.connection('demo').link()
    expect(asked).toMatchObject([
      { kind: 'passphrase', keyFile: key, retry: false },
      { kind: 'passphrase', keyFile: key, retry: true },
    ])
    const failure = await failureOf(
      pool(auth({ identityFiles: [key] }))
        .connection('demo')
        .link(),
    )
    expect((failure as Error).message).toMatch(/locked is encrypted and was not unlocked.*ssh-add/)
  })

  it('offers the configured key first, although an agent holds more than the server lets us try', async () => {
    const socket = join(folder, 'agent')
    const agent = execFileSync('ssh-agent', ['-a', socket, '-s']).toString()
    const pid = /SSH_AGENT_PID=(\d+)/.exec(agent)?.[1] ?? ''
    const env = { SSH_AUTH_SOCK: socket }
    try {
      for (let index = 0; index < 8; index += 1) {
        const file = join(folder, `agent-key-${index}`)
        execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
        execFileSync('ssh-add', ['-q', file], { env: { ...process.env, ...env }, stdio: 'ignore' })
      }
      execFileSync('ssh-add', ['-q', rig.server.identityFile], {
        env: { ...process.env, ...env },
        stdio: 'ignore',
      })
      const link = await pool(auth({ identitiesOnly: false }), undefined, env)
        .connection('demo')
        .link()
      expect(link.facts.method).toContain('(agent)')
      const publicOnly = join(folder, 'public-only')
      execFileSync('cp', [`${rig.server.identityFile}.pub`, `${publicOnly}.pub`])
      const narrowed = pool(auth({ identityFiles: [publicOnly], identitiesOnly: true }), undefined, env)
      expect((await narrowed.connection('demo').link()).facts.method).toContain('public-only (agent)')
    } finally {
      process.kill(Number(pid))
    }
  })

  it('goes on without an agent that is dead', async () => {
    const link = await pool(auth({}), undefined, { SSH_AUTH_SOCK: join(folder, 'nobody') })
      .connection('demo')
      .link()
    expect(link.facts.method).toContain('publickey')
  })
})

describe('passwords', () => {
  const asking = async (
    answers: string[],
  ): Promise<{ server: PasswordServer; asked: Question[]; pool: ConnectionPool }> => {
    const server = await startPasswordServer('right')
    open.push(server)
    const asked: Question[] = []
    const settings = settingsFor(rig.server)
    const made = pool(
      {
        port: server.port,
        hostKeys: {
          ...settings.hostKeys,
          policy: 'accept-new',
          userFiles: [join(folder, `pw-${server.port}`)],
        },
        auth: { ...settings.auth, identityFiles: [] },
      },
      (question) => {
        asked.push(question)
        const text = answers.shift()
        return text === undefined ? { kind: 'nobody' } : { kind: 'text', text }
      },
    )
    return { server, asked, pool: made }
  }

  it('are asked for once, remembered for a reconnect, and asked again after one refusal', async () => {
    const { server, asked, pool: made } = await asking(['wrong', 'right', 'newer'])
    const connection = made.connection('demo')
    await connection.link()
    expect(server.offered).toEqual(['password wrong', 'password right'])
    connection.drop()
    await connection.link()
    expect(server.offered).toHaveLength(3)
    server.password = 'newer'
    connection.drop()
    await connection.link()
    expect(server.offered.slice(3)).toEqual(['password right', 'password newer'])
    expect(asked.map((question) => 'retry' in question && question.retry)).toEqual([false, true, true])
  })

  it('answer the one hidden prompt of a server that asks interactively', async () => {
    const { server, pool: made } = await asking(['right'])
    server.methods = ['keyboard-interactive']
    const link = await made.connection('demo').link()
    expect(link.facts.method).toBe('keyboard-interactive')
  })

  it('that nobody can give are an error that says what the server takes', async () => {
    const { pool: made } = await asking([])
    const failure = await failureOf(made.connection('demo').link())
    expect(failure).toMatchObject({ code: 'question-unanswered' })
    expect((failure as Error).message).toMatch(/tried: nothing; the server accepts: password/)
  })

  it('are never typed into a machine whose key is not the known one, although the policy lets it pass', async () => {
    const { server } = await asking([])
    const file = join(folder, 'contradicting')
    execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-N', '', '-f', join(folder, 'other-rsa')])
    writeFileSync(file, `[127.0.0.1]:${server.port} ${readFileSync(join(folder, 'other-rsa.pub'), 'utf8')}`)
    const settings = settingsFor(rig.server)
    const careless = pool(
      {
        port: server.port,
        hostKeys: { ...settings.hostKeys, policy: 'no', userFiles: [file] },
        auth: { ...settings.auth, identityFiles: [] },
      },
      () => ({ kind: 'text', text: 'right' }),
    )
    const failure = await failureOf(careless.connection('demo').link())
    expect((failure as Error).message).toContain('no password was offered')
    expect(server.offered).toEqual([])
  })
})

describe('a line that breaks', () => {
  it('fails what is under way, and the next use connects again', async () => {
    const { proxy, machine, files } = await proxied()
    writeFileSync(join(rig.folder, 'f'), 'content')
    const file = { path: parseRemotePath(join(rig.folder, 'f')), shown: 'f' }
    expect(await files.readText(file)).toBe('content')
    const exec = await (await machine.session()).link.exec('sleep 5')
    proxy.reset()
    await expect(exec.exit).rejects.toBeInstanceOf(LinkLostError)
    expect(machine.connection.state).toMatchObject({ kind: 'lost' })
    expect(await files.readText(file)).toBe('content')
    expect(machine.connection.state.kind).toBe('ready')
  })

  it('never ends the process, wherever it is cut', async () => {
    for (const delay of [0, 1, 5, 20, 60]) {
      const { proxy, machine } = await proxied()
      const attempt = failureOf(machine.session())
      await new Promise((resolve) => setTimeout(resolve, delay))
      proxy.reset()
      await attempt
      await proxy.close()
    }
    expect((await rig.machine.session()).link.alive).toBe(true)
  })

  it('F38: that falls silent fails a small request by its deadline, names the machine, and is given up as dead', async () => {
    const { proxy, machine, files } = await proxied()
    const file = { path: parseRemotePath(join(rig.folder, 'f')), shown: 'f' }
    await files.stat(file)
    proxy.freeze()
    const failure = await failureOf(files.stat(file))
    expect(failure).toMatchObject({
      family: 'transport',
      message: expect.stringMatching(/^demo: .*(no answer|nothing came|lost)/) as string,
    })
    expect(machine.current).toBeUndefined()
    proxy.thaw()
    expect(await files.stat(file)).toBeDefined()
  }, 60_000)
})
