import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { asksForPassword } from '../../../src/ssh/auth/passwords.ts'
import { AuthBench, failureOf, person } from '../../support/auth-bench.ts'
import { startPasswordServer } from '../../support/password-server.ts'
import { startProxy } from '../../support/proxy.ts'
import { makeKey, publicLine } from '../../support/auth-keys.ts'
import { settingsFor } from '../../support/rig.ts'

const SECRET = 'correct-horse-7'

const bench = new AuthBench()

/**
 * An sshd that sees accounts and passwords of its own, in a view of the files that only it has. A whole folder
 * is laid over `/etc`: a single file's cover would go as soon as anybody else changed an account.
 */
function passwordSshd(...lines: readonly string[]): Promise<DemoMachine> {
  const etc = bench.path('etc')
  mkdirSync(etc, { recursive: true })
  for (const name of ['passwd', 'group', 'nsswitch.conf', 'ld.so.cache']) {
    if (existsSync(`/etc/${name}`)) copyFileSync(`/etc/${name}`, `${etc}/${name}`)
  }
  const hash = execFileSync('openssl', ['passwd', '-6', SECRET], { encoding: 'utf8' }).trim()
  writeFileSync(`${etc}/shadow`, `${userInfo().username}:${hash}:20000:0:99999:7:::\n`, { mode: 0o600 })
  const within = ['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc && exec "$@"', etc]
  return bench.sshd(['PasswordAuthentication yes', 'PermitRootLogin yes', ...lines], { within })
}

afterAll(() => bench.close())

describe('a password, by a real sshd', () => {
  let server: DemoMachine
  beforeAll(async () => {
    server = await passwordSshd()
  })

  it('is asked for when no key serves, again after a wrong one, and remembered for a reconnect', async () => {
    const { asked, answer } = person('wrong-staple', SECRET)
    const connection = bench.connection(server, { auth: { identityFiles: [] }, answer })
    expect((await connection.link()).facts.method).toBe('password')
    connection.drop()
    await connection.link()
    expect(asked).toEqual([
      { kind: 'password', machine: 'demo', user: server.user, retry: false },
      { kind: 'password', machine: 'demo', user: server.user, retry: true },
    ])
  })

  it('that is wrong as often as NumberOfPasswordPrompts allows is an error without it', async () => {
    const { asked, answer } = person('wrong-a', 'wrong-b', 'wrong-c')
    const auth = { identityFiles: [], passwordPrompts: 2 }
    const failure = await bench.failure(server, { auth, answer })
    expect(asked).toHaveLength(2)
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect(failure.message).toContain('tried: password, password')
    expect(`${failure.message} ${failure.stack ?? ''}`).not.toMatch(/wrong-/)
  })

  it.each([
    ['a key', 'publickey,publickey', 'publickey'],
    ['a password', 'publickey,password', 'password'],
  ])('%s may be wanted after a key: both are given, in one connection', async (_what, methods, second) => {
    const keys = ['first', 'second'].map((name) => makeKey(bench.folder, `${second}-${name}`))
    writeFileSync(bench.path(`keys-${second}`), `${keys.map(publicLine).join('\n')}\n`)
    const strict = await passwordSshd(
      `AuthenticationMethods ${methods}`,
      `AuthorizedKeysFile ${bench.path(`keys-${second}`)}`,
    )
    const { answer } = person(SECRET)
    const method = await bench.method(strict, { auth: { identityFiles: keys }, answer })
    expect(method).toBe(`publickey ${keys[0]}, ${second === 'password' ? second : `publickey ${keys[1]}`}`)
  })

  it('wanted by a server after a key, where nobody is, is named together with what was accepted', async () => {
    const strict = await passwordSshd('AuthenticationMethods publickey,password')
    const failure = await bench.failure(strict)
    expect(failure).toMatchObject({ code: 'question-unanswered' })
    expect(failure.message).toContain(`accepted, but not enough: publickey ${strict.identityFile}`)
    expect(failure.message).toContain(`the password of ${strict.user}`)
  })
})

describe('a remembered password', () => {
  it('F29: serves after a lost link; when it was changed it is refused once, and then a person is asked', async () => {
    const partner = await bench.sshd()
    const server = bench.keep(await startPasswordServer('first'))
    const proxy = bench.keep(await startProxy({ host: '127.0.0.1', port: server.port }))
    const { hostKeys } = settingsFor(partner)
    const settings = {
      port: proxy.port,
      hostKeys: { ...hostKeys, policy: 'accept-new', userFiles: [] },
    } as const
    const { asked, answer } = person('first', 'second')
    const connection = bench.connection(partner, { auth: { identityFiles: [] }, settings, answer })
    const lost = async (): Promise<void> => {
      proxy.reset()
      await expect.poll(() => connection.current).toBeUndefined()
    }
    await connection.link()
    await lost()
    await connection.link()
    expect([asked.length, server.offered]).toEqual([1, ['password first', 'password first']])
    server.password = 'second'
    await lost()
    await connection.link()
    expect(asked).toHaveLength(2)
    expect(server.offered.slice(2)).toEqual(['password first', 'password second'])
    // Changed once more, and nobody is there: one try, and none at all from then on.
    server.password = 'third'
    for (let time = 0; time < 3; time += 1) {
      if (time === 0) await lost()
      expect(await failureOf(connection.link())).toMatchObject({ code: 'question-unanswered' })
    }
    expect(server.offered.slice(4)).toEqual(['password second'])
  })
})

describe('a prompt', () => {
  it.each([
    ['Password: ', true],
    ["ann@host's password: ", true],
    ['Passwort: ', true],
    ['密码：', true],
    ['Verification code: ', false],
    ['One-time password (OATH) for ann: ', false],
    ['Password + token: ', false],
    ['New password: ', false],
    ['(current) UNIX password: ', true],
    ['Passcode or option (1-3): ', false],
    ['', false],
  ])('%j asks for the password of the account: %s', (text, yes) => {
    expect(asksForPassword([{ text, echo: false }])).toBe(yes)
  })

  it('that shows what is typed, or stands beside another one, never does', () => {
    expect(asksForPassword([{ text: 'Password: ', echo: true }])).toBe(false)
    const one = { text: 'Password: ', echo: false }
    expect(asksForPassword([one, one])).toBe(false)
    expect(asksForPassword([])).toBe(false)
  })
})
