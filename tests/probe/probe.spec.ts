import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { probe as examine } from '../../scripts/probe/examine.ts'
import type { ProbeResult } from '../../scripts/probe/result.ts'
import { ROOT } from '../../scripts/project/checkout.ts'
import { run, type Outcome } from '../../scripts/project/children.ts'
import { freePort } from '../../scripts/project/port.ts'
import { NOBODY } from '../../src/ssh/questions.ts'
import { startPasswordMachine, type PasswordMachine } from './password-machine.ts'
import { sitDown, type Seat } from './terminal.ts'

const SECRET = 'correct-horse-7'

let folder = ''
let server: DemoMachine
let passwords: PasswordMachine
let fingerprint = ''
const seats: Seat[] = []

beforeAll(async () => {
  folder = realpathSync(mkdtempSync('/var/tmp/presence-probe-'))
  server = await startOpenSsh({ folder: join(folder, 'machine') })
  passwords = await startPasswordMachine(SECRET)
  fingerprint =
    /SHA256:\S+/.exec(
      execFileSync('ssh-keygen', ['-lf', join(folder, 'machine/host_ed25519.pub')], { encoding: 'utf8' }),
    )?.[0] ?? 'no fingerprint'
})
afterAll(async () => {
  await server.stop()
  await passwords.stop()
  rmSync(folder, { recursive: true, force: true })
})

let knownHosts = ''
let config = ''
beforeEach(() => {
  knownHosts = join(folder, 'known_hosts')
  config = join(folder, 'config')
  writeFileSync(knownHosts, readFileSync(server.knownHostsFile))
  configure()
})
afterEach(() => {
  for (const seat of seats.splice(0)) seat.stop()
})

/** The configuration of the machine `box`, with other values where they are given. */
function configure(change: Readonly<Record<string, string | number>> = {}): void {
  const lines = {
    HostName: '127.0.0.1',
    Port: server.port,
    User: server.user,
    IdentityFile: server.identityFile,
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    UserKnownHostsFile: knownHosts,
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'ask',
    ...change,
  }
  const text = Object.entries(lines).map(([key, value]) => `  ${key} ${value}`)
  writeFileSync(config, ['Host box', ...text, ''].join('\n'))
}

const environment = (): NodeJS.ProcessEnv => ({ ...process.env, PRESENCE_SSH_CONFIG: config, TERM: 'dumb' })
const argv = (...args: readonly string[]): string[] => [
  process.execPath,
  join(ROOT, 'scripts/probe.ts'),
  ...args,
]

/** Without a terminal, as in a pipeline. */
const probe = (...args: readonly string[]): Promise<Outcome> => run(argv(...args), { env: environment() })

async function probeAsData(...args: readonly string[]): Promise<{ result: ProbeResult; outcome: Outcome }> {
  const outcome = await probe(...args, '--json')
  return { result: JSON.parse(outcome.stdout) as ProbeResult, outcome }
}

/** With somebody at a terminal. */
function sit(args: readonly string[], redirection = ''): Seat {
  const seat = sitDown(`${argv(...args).join(' ')} ${redirection}`, environment())
  seats.push(seat)
  return seat
}

const encryptedKey = (): string => {
  const file = join(folder, 'encrypted')
  rmSync(file, { force: true })
  writeFileSync(file, readFileSync(server.identityFile), { mode: 0o600 })
  execFileSync('ssh-keygen', ['-q', '-p', '-f', file, '-P', '', '-N', SECRET])
  return file
}

const strangerKey = (): string => {
  const file = join(folder, 'stranger')
  rmSync(file, { force: true })
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file], { input: 'y\n' })
  return file
}

describe('a machine that can be used', () => {
  it('is described: the way there, who it is, what it can do, how fast', async () => {
    const { code, stdout, stderr } = await probe('box')
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(stdout).toContain(`127.0.0.1 port ${server.port}, as ${server.user}`)
    expect(stdout).toContain(`Configuration    ${config}; resolved by`)
    expect(stdout).toContain(`ssh-ed25519 ${fingerprint}`)
    expect(stdout).toContain(`publickey ${server.identityFile}`)
    expect(stdout).toMatch(/Server +SSH-2\.0-OpenSSH/)
    expect(stdout).toMatch(/Stages +config [\d.]+ ms, tcp .*, auth .*, probe /)
    expect(stdout).toMatch(/Files +SFTP, beginning in \//)
    expect(stdout).toMatch(/SFTP extensions +.*posix-rename@openssh\.com/)
    expect(stdout).toMatch(/Login shell +\w+, which quotes as POSIX has it/)
    expect(stdout).toMatch(/Tools +stat: gnu, find: gnu/)
    expect(stdout).toMatch(/Locale +\S+/)
    expect(stdout).toMatch(/Programs .*\/rg/)
    expect(stdout).toMatch(/Confinement +bubblewrap/)
    expect(stdout).toMatch(
      /Round trips +SFTP stat [\d.]+ ms, question to a shell [\d.]+ ms, command [\d.]+ ms/,
    )
    expect(stdout).not.toContain('FAILED')
  })

  it('is one JSON object and nothing else with --json', async () => {
    const { result, outcome } = await probeAsData('box')
    expect([outcome.code, outcome.stderr]).toEqual([0, ''])
    const milliseconds = expect.any(Number) as number
    expect(result).toEqual({
      machine: 'box',
      ok: true,
      settings: {
        host: '127.0.0.1',
        port: server.port,
        user: server.user,
        files: [config],
        resolvedBy: expect.stringMatching(/ssh$/) as string,
        identityFiles: [server.identityFile],
        knownHostsFiles: [knownHosts, '/dev/null'],
      },
      stages: ['config', 'tcp', 'banner', 'key-exchange', 'host-key', 'auth', 'probe'].map((stage) => ({
        stage,
        ms: milliseconds,
      })),
      connection: {
        address: `127.0.0.1:${server.port}`,
        identification: expect.stringMatching(/^SSH-2\.0-OpenSSH/) as string,
        method: `publickey ${server.identityFile}`,
        hostKey: { type: 'ssh-ed25519', sha256: fingerprint },
      },
      capabilities: {
        sftp: true,
        files: {
          reason: null,
          by: 'service',
          start: realpathSync(server.home),
          extensions: expect.objectContaining({ 'posix-rename@openssh.com': '1' }) as object,
          sameAsCommands: 'same',
        },
        noCommands: null,
        loginShell: expect.stringMatching(/^(bash|dash|zsh|sh)$/) as string,
        shell: expect.objectContaining({
          os: 'Linux',
          home: realpathSync(server.home),
          quoting: 'posix',
          stat: 'gnu',
          find: 'gnu',
        }) as object,
      },
      roundTrips: { sftpStat: milliseconds, shellQuestion: milliseconds, command: milliseconds },
      warnings: [],
      failure: null,
    })
  })

  it('may have no SFTP service: files go around that, and a person is told', async () => {
    const without = await startOpenSsh({
      folder: join(folder, 'without'),
      sshdConfig: ['Subsystem nothing /bin/true'],
    })
    try {
      configure({
        Port: without.port,
        IdentityFile: without.identityFile,
        UserKnownHostsFile: without.knownHostsFile,
      })
      const { code, stdout } = await probe('box')
      expect(code).toBe(0)
      expect(stdout).toMatch(/Files +SFTP by \/\S+\/sftp-server/)
      expect(stdout).toMatch(
        /Warning +files go through .*sftp-server, run as a command: its SSH server offers no SFTP/,
      )
    } finally {
      await without.stop()
    }
  })

  it('may offer only files: then that is what is said', async () => {
    const only = await startOpenSsh({
      folder: join(folder, 'only'),
      sshdConfig: ['ForceCommand internal-sftp'],
    })
    try {
      configure({ Port: only.port, IdentityFile: only.identityFile, UserKnownHostsFile: only.knownHostsFile })
      const { result } = await probeAsData('box')
      expect(result.ok).toBe(true)
      expect(result.capabilities).toMatchObject({
        sftp: true,
        noCommands: expect.stringContaining('runs no commands') as string,
        shell: null,
      })
      expect(result.roundTrips).toEqual({
        sftpStat: expect.any(Number) as number,
        shellQuestion: null,
        command: null,
      })
      expect((await probe('box')).stdout).toMatch(/Commands +none: .*runs no commands/)
    } finally {
      await only.stop()
    }
  })
})

describe('a connection that fails is told with its stage, its reason and what to do', () => {
  it('a name that the configuration does not have', async () => {
    const { code, stdout } = await probe('nowhere')
    expect(code).toBe(1)
    expect(stdout).toContain('FAILED at the stage "config" (unknown-machine)')
    expect(stdout).toContain(`names in it: box; read: ${config}`)
    expect(stdout).toContain('What to do: Write a "Host nowhere" block')
  })

  it('a name that only a pattern tells of is looked at, and how Presence would know it is said', async () => {
    writeFileSync(config, readFileSync(config, 'utf8').replace('Host box', 'Host b?x'))
    const { result } = await probeAsData('box')
    expect(result).toMatchObject({ ok: true, machine: 'box' })
    expect(result.warnings.join()).toContain('write "box: { alias: box }" into machines.yml')
  })

  it('a server that closes every connection unheard, after it was tried again', async () => {
    const closer = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => closer.listen(0, '127.0.0.1', resolve))
    configure({ Port: (closer.address() as AddressInfo).port })
    const { result, outcome } = await probeAsData('box')
    closer.close()
    expect(outcome.code).toBe(1)
    expect(result.failure).toMatchObject({ code: 'crowded', stage: 'banner' })
  })

  it('a port where nobody listens', async () => {
    configure({ Port: await freePort() })
    const { result, outcome } = await probeAsData('box')
    expect(outcome.code).toBe(1)
    expect(result).toMatchObject({
      ok: false,
      connection: null,
      capabilities: null,
      failure: { stage: 'tcp', code: 'unreachable' },
    })
    expect(result.stages.map(({ stage }) => stage)).toEqual(['config', 'tcp'])
    expect(result.failure?.reason).toContain('connection refused')
    expect(result.failure?.advice).toContain('Check the name, the port')
  })

  it('a key that the machine does not accept', async () => {
    const stranger = strangerKey()
    configure({ IdentityFile: stranger })
    const { result, outcome } = await probeAsData('box')
    expect(outcome.code).toBe(1)
    expect(result.failure).toMatchObject({ stage: 'auth', code: 'auth-failed' })
    expect(result.failure?.reason).toContain(`publickey ${stranger}`)
    expect(result.failure?.advice).toContain('ssh-add')
  })

  it('a host key that has changed, with both fingerprints, and no question', async () => {
    const stranger = readFileSync(`${strangerKey()}.pub`, 'utf8').split(' ').slice(0, 2).join(' ')
    writeFileSync(knownHosts, `[127.0.0.1]:${server.port} ${stranger}\n`)
    const seat = sit(['box'])
    expect(await seat.ended()).toBe(1)
    expect(seat.shown()).toContain('(host-key-changed)')
    expect(seat.shown()).toContain(fingerprint)
    expect(seat.shown()).toContain(`${knownHosts}:1 holds`)
    expect(seat.shown()).not.toContain('yes/no')
  })

  it('an unknown host key where nobody can be asked, with the way to accept it', async () => {
    writeFileSync(knownHosts, '')
    const { code, stdout } = await probe('box')
    expect(code).toBe(1)
    expect(stdout).toContain('FAILED at the stage "host-key" (host-key-unknown)')
    expect(stdout).toContain(`ssh-ed25519 ${fingerprint}`)
    expect(stdout).toContain('Run this probe in a terminal to be asked.')
    expect(readFileSync(knownHosts, 'utf8')).toBe('')
  })

  it('a password or a passphrase where nobody can be asked', async () => {
    configure({ IdentityFile: encryptedKey() })
    const { result } = await probeAsData('box')
    expect(result.failure).toMatchObject({ stage: 'auth', code: 'question-unanswered' })
    expect(result.failure?.reason).toContain('is encrypted and was not unlocked')
    expect(result.failure?.advice).toContain('Run this probe in a terminal to be asked.')
  })

  it('a machine that lets us in and refuses every channel', async () => {
    const closed = await startOpenSsh({ folder: join(folder, 'closed'), sshdConfig: ['MaxSessions 0'] })
    try {
      configure({
        Port: closed.port,
        IdentityFile: closed.identityFile,
        UserKnownHostsFile: closed.knownHostsFile,
      })
      const result = await examine({
        machine: 'box',
        questions: NOBODY,
        asked: false,
        signal: new AbortController().signal,
        env: environment(),
        limitMs: 1000,
      })
      expect(result.failure).toMatchObject({ stage: 'probe', code: 'closed' })
      expect(result.failure?.reason).toContain('grants neither files nor commands')
    } finally {
      await closed.stop()
    }
  })

  it.each([
    [[], 'the name of a machine is needed'],
    [['one', 'two'], 'one machine at a time'],
    [['box', '--fast'], '--fast'],
  ])('called with %j it says how to call it, and ends with 2', async (args, sentence) => {
    const { code, stdout, stderr } = await probe(...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(sentence)
    expect(stderr).toContain('npm run probe -- NAME')
  })
})

describe('somebody at the terminal', () => {
  it('accepts a host key after seeing its type and fingerprint, and is not asked again', async () => {
    writeFileSync(knownHosts, '')
    const seat = sit(['box'])
    await seat.answer(`ssh-ed25519 ${fingerprint}`, '')
    await seat.answer('(yes/no) ', 'perhaps\r')
    await seat.answer('Please type yes or no: ', 'yex\u007fs\r')
    expect(await seat.ended()).toBe(0)
    expect(readFileSync(knownHosts, 'utf8')).toContain(`[127.0.0.1]:${server.port} ssh-ed25519 `)
    expect((await probe('box')).code).toBe(0)
  })

  it('refuses one, and nothing is written down', async () => {
    writeFileSync(knownHosts, '')
    const seat = sit(['box'])
    await seat.answer('(yes/no) ', 'no\r')
    expect(await seat.ended()).toBe(1)
    expect(seat.shown()).toContain('was not accepted')
    expect(readFileSync(knownHosts, 'utf8')).toBe('')
  })

  it('types a passphrase that is never shown, not even with --json, and may mistype it', async () => {
    configure({ IdentityFile: encryptedKey() })
    const file = join(folder, 'result.json')
    const seat = sit(['box', '--json'], `> ${file}`)
    await seat.answer('Passphrase of the key', 'wrong-staple-3\r')
    await seat.answer('That was not accepted. Passphrase of the key', `${SECRET}\r`)
    expect(await seat.ended()).toBe(0)
    const written = readFileSync(file, 'utf8')
    expect((JSON.parse(written) as ProbeResult).ok).toBe(true)
    for (const text of [seat.shown(), written]) {
      expect(text).not.toContain(SECRET)
      expect(text).not.toContain('wrong-staple')
      expect(text).not.toContain('*')
    }
  })

  it('types a password that is never shown', async () => {
    configure({
      Port: passwords.port,
      User: 'ann',
      StrictHostKeyChecking: 'accept-new',
      PubkeyAuthentication: 'no',
    })
    const seat = sit(['box'])
    await seat.answer('Password of ann on box: ', `${SECRET}\r`)
    expect(await seat.ended()).toBe(0)
    expect(passwords.offered).toContain(SECRET)
    expect(seat.shown()).toContain('Authenticated by password')
    expect(seat.shown()).toMatch(/Files +none/)
    expect(seat.shown()).not.toContain(SECRET)
  })

  it('ends the probe with Ctrl-C, also in the middle of a question', async () => {
    writeFileSync(knownHosts, '')
    const seat = sit(['box'], '; echo "code $?"; stty -a')
    await seat.answer('(yes/no) ', '\u0003')
    await seat.ended()
    expect(seat.shown()).toContain('code 130')
    // The terminal is again as it was.
    expect(seat.shown()).toMatch(/\sicanon\b/)
    expect(seat.shown()).toMatch(/\secho\b/)
    expect(seat.shown()).not.toContain('FAILED')
  })

  it('leaves a question unanswered by ending the input', async () => {
    configure({ IdentityFile: encryptedKey() })
    const seat = sit(['box'])
    await seat.answer('Passphrase of the key', '\u0004')
    expect(await seat.ended()).toBe(1)
    expect(seat.shown()).toContain('was not unlocked')
    expect(seat.shown()).not.toMatch(/Run this probe in a terminal|obody was there/)
  })
})
