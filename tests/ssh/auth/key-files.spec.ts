import { execFileSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { readKeyFile } from '../../../src/ssh/auth/key-file.ts'
import type { Question } from '../../../src/ssh/questions.ts'
import { startAgent } from '../../support/auth-agent.ts'
import { AuthBench, person } from '../../support/auth-bench.ts'
import { poolFor, settingsFor } from '../../support/rig.ts'
import { copyKey, makeKey, publicLine, type KeyWish } from '../../support/auth-keys.ts'

const PASSPHRASE = 'open sesame 42'

const bench = new AuthBench()
let server: DemoMachine

/** A key that the server accepts. */
function accepted(name: string, wish: KeyWish = {}): string {
  const file = makeKey(bench.folder, name, wish)
  writeFileSync(authorized(), `${publicLine(file)}\n`, { flag: 'a' })
  return file
}
const authorized = (): string => bench.path('authorized')
const only = (...identityFiles: readonly string[]): { auth: { identityFiles: readonly string[] } } => ({
  auth: { identityFiles },
})

beforeAll(async () => {
  writeFileSync(authorized(), '')
  server = await bench.sshd([`AuthorizedKeysFile ${authorized()}`])
})
afterAll(() => bench.close())

describe('an encrypted key file', () => {
  it.each([
    'aes256-ctr',
    'aes256-cbc',
    'aes256-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    '3des-cbc',
  ])(
    'F23: with the cipher %s is opened by its passphrase, and a wrong one is known as wrong',
    async (cipher) => {
      const key = accepted(`by-${cipher}`, { passphrase: PASSPHRASE, cipher })
      const { asked, answer } = person('not this one', PASSPHRASE)
      expect(await bench.method(server, { ...only(key), answer })).toBe(`publickey ${key}`)
      expect(asked).toMatchObject([
        { kind: 'passphrase', keyFile: key, retry: false },
        { kind: 'passphrase', keyFile: key, retry: true },
      ])
    },
  )

  it.each<[string, KeyWish]>([
    ['an RSA key in PEM', { type: 'rsa', format: 'PEM' }],
    ['an ECDSA key in PEM', { type: 'ecdsa', format: 'PEM' }],
    ['an RSA key in PKCS#8', { type: 'rsa', format: 'PKCS8' }],
    ['an ECDSA key in PKCS#8', { type: 'ecdsa', format: 'PKCS8' }],
    ['an RSA key in the format of OpenSSH', { type: 'rsa' }],
    ['an ECDSA key in the format of OpenSSH', { type: 'ecdsa' }],
  ])('may be %s', async (what, wish) => {
    const key = accepted(what.replaceAll(/\W/g, '-'), { ...wish, passphrase: PASSPHRASE })
    const { asked, answer } = person('not this one', PASSPHRASE)
    expect(await bench.method(server, { ...only(key), answer })).toBe(`publickey ${key}`)
    expect(asked).toHaveLength(2)
  })

  it('may be an Ed25519 key in PKCS#8, which nothing but OpenSSL writes', async () => {
    const [plain, encrypted] = [bench.path('ed-pkcs8'), bench.path('ed-pkcs8-encrypted')]
    execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', plain])
    execFileSync('openssl', [
      'pkcs8',
      '-topk8',
      '-in',
      plain,
      '-out',
      encrypted,
      '-passout',
      `pass:${PASSPHRASE}`,
    ])
    for (const file of [plain, encrypted]) chmodSync(file, 0o600)
    const { x } = createPrivateKey(readFileSync(plain)).export({ format: 'jwk' })
    const type = 'ssh-ed25519'
    const blob = Buffer.concat([
      Buffer.from([0, 0, 0, type.length]),
      Buffer.from(type),
      Buffer.from([0, 0, 0, 32]),
      Buffer.from(x ?? '', 'base64url'),
    ])
    writeFileSync(authorized(), `${type} ${blob.toString('base64')}\n`, { flag: 'a' })
    expect(await bench.method(server, only(plain))).toBe(`publickey ${plain}`)
    const { answer } = person(PASSPHRASE)
    expect(await bench.method(server, { ...only(encrypted), answer })).toBe(`publickey ${encrypted}`)
  })

  it('is not asked for when the server would not take it', async () => {
    const stranger = makeKey(bench.folder, 'stranger-encrypted', { passphrase: PASSPHRASE })
    const own = accepted('own-plain')
    const { asked, answer } = person(PASSPHRASE)
    expect(await bench.method(server, { ...only(stranger, own), answer })).toBe(`publickey ${own}`)
    const failure = await bench.failure(server, { ...only(stranger), answer })
    expect(failure.code).toBe('auth-failed')
    expect(asked).toEqual([])
  })

  it('is asked for once in a process, for all connections that want it at the same time', async () => {
    const key = accepted('wanted-twice', { passphrase: PASSPHRASE })
    const asked: Question[] = []
    const answer = async (question: Question): Promise<{ kind: 'text'; text: string }> => {
      asked.push(question)
      await new Promise((resolve) => setTimeout(resolve, 300))
      return { kind: 'text', text: PASSPHRASE }
    }

    const base = settingsFor(server)
    const settings = { ...base, auth: { ...base.auth, identityFiles: [key] } }
    const pool = bench.keep(poolFor(() => settings, { ask: answer }))
    await Promise.all([pool.connection('one').link(), pool.connection('two').link()])
    pool.connection('one').drop()
    await pool.connection('one').link()
    expect(asked).toHaveLength(1)
  })

  it('with an unknown cipher, or cut short, is given up with the reason', async () => {
    const key = makeKey(bench.folder, 'altered', { passphrase: PASSPHRASE, cipher: 'aes256-ctr' })
    const lines = readFileSync(key, 'utf8').trim().split('\n')
    const bytes = Buffer.from(lines.slice(1, -1).join(''), 'base64')
    const { answer } = person(PASSPHRASE, PASSPHRASE)
    const alter = async (name: string, changed: Buffer): Promise<string> => {
      writeFileSync(bench.path(name), [lines[0], changed.toString('base64'), lines.at(-1), ''].join('\n'), {
        mode: 0o600,
      })
      const file = await readKeyFile(bench.path(name))
      if (file.kind !== 'encrypted') return file.kind === 'unusable' ? file.reason : file.kind
      return file.unlock(answer({ kind: 'passphrase', machine: '', keyFile: '', retry: false }).kind).then(
        (opened) => (opened === undefined ? 'wrong passphrase' : 'opened'),
        (error: unknown) => (error as Error).message,
      )
    }
    const unknown = Buffer.from(bytes.toString('latin1').replace('aes256-ctr', 'rot13-many'), 'latin1')
    expect(await alter('unknown-cipher', unknown)).toContain('rot13-many, which is not known here')
    expect(await alter('cut-short', bytes.subarray(0, -40))).toContain('it ends too early')
  })

  it('is asked for as often as NumberOfPasswordPrompts says, and then given up by name', async () => {
    const key = accepted('given-up', { passphrase: PASSPHRASE })
    const { asked, answer } = person('guess a', 'guess b', 'guess c')
    const auth = { identityFiles: [key], passwordPrompts: 2 }
    const failure = await bench.failure(server, { auth, answer })
    expect(asked).toHaveLength(2)
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect(failure.message).toContain(
      `key file ${key} is encrypted and was not unlocked (load it with ssh-add)`,
    )
    expect(JSON.stringify([failure.message, failure.stack, failure.cause])).not.toMatch(/guess|sesame/)
  })

  it.each([
    ['nobody is there', {}],
    ['BatchMode forbids it', { batchMode: true }],
  ])('that cannot be asked for, because %s, is an error that says what to do', async (_why, change) => {
    const key = accepted(`unasked-${Object.keys(change).length}`, { passphrase: PASSPHRASE })
    const failure = await bench.failure(server, { auth: { identityFiles: [key], ...change } })
    expect(failure).toMatchObject({ code: 'question-unanswered', stage: 'auth' })
    expect(failure.message).toContain(`the passphrase of ${key}`)
    expect(failure.message).toMatch(/connect once where a person can answer.*ssh-add/)
  })
})

describe('a key file', () => {
  it('that others may read is refused, as ssh does, and named', async () => {
    const key = accepted('readable')
    chmodSync(key, 0o644)
    const ssh = (): string =>
      execFileSync(
        'ssh',
        ['-F', server.sshConfigFile, '-o', `IdentityFile=${key}`, '-i', key, server.alias, 'echo in'],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
      )
    writeFileSync(
      server.sshConfigFile,
      readFileSync(server.sshConfigFile, 'utf8').replace(/^.*IdentityFile.*$/m, ''),
    )
    expect(ssh).toThrow(/UNPROTECTED PRIVATE KEY FILE|Permissions 0644/)
    const failure = await bench.failure(server, only(key))
    expect(failure.message).toContain(`key file ${key}: its permissions 0644 let others read it`)
    expect(failure.message).toContain(`chmod 600 ${key}`)
    chmodSync(key, 0o600)
    expect(ssh()).toBe('in\n')
    expect(await bench.method(server, only(key))).toBe(`publickey ${key}`)
  })

  it('may be named by its public half, when an agent holds the private one', async () => {
    const key = accepted('by-public-half')
    const agent = bench.keep(await startAgent(bench.path('agent-public')))
    const alone = await bench.failure(server, only(`${copyPublic(key)}`))
    expect(alone.message).toContain('it holds only a public key, and no agent holds the private one')
    agent.add(key)
    const method = await bench.method(server, { ...only(copyPublic(key)), env: agent.env })
    expect(method).toBe(`publickey ${bench.path('elsewhere.pub')} (agent)`)
  })

  it('that is none is named with what is wrong, and holds nothing up', async () => {
    const own = accepted('own-among-broken')
    const broken = {
      empty: '',
      prose: 'this is no key\n',
      cut: readFileSync(own, 'utf8').slice(0, 200),
      garbled: '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n',
      pem: '-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n',
    }
    const files = Object.entries(broken).map(([name, text]) => {
      writeFileSync(bench.path(name), text, { mode: 0o600 })
      return bench.path(name)
    })
    mkdirSync(bench.path('a-folder'))
    execFileSync('mkfifo', [bench.path('a-fifo'), bench.path('beside.pub')])
    files.push(...['a-folder', 'a-fifo', 'beside', 'no-such-key'].map((name) => bench.path(name)))
    expect(await bench.method(server, only(...files, own))).toBe(`publickey ${own}`)
    const { message } = await bench.failure(server, only(...files))
    for (const file of files) expect(message).toContain(file)
  })

  it('of a default name that is not there is no news', async () => {
    const { message } = await bench.failure(server, only(bench.path('id_ed25519'), bench.path('id_rsa')))
    expect(message).not.toContain('does not exist')
  })

  it('of PuTTY is named with the way to convert it, and used when an agent holds the key', async () => {
    const key = accepted('putty')
    const [, blob = ''] = publicLine(key).split(' ')
    const ppk = bench.path('putty.ppk')
    const head = 'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: aes256-cbc\nComment: mine\n'
    writeFileSync(
      ppk,
      `${head}Public-Lines: 2\n${blob.slice(0, 64)}\n${blob.slice(64)}\nKey-Derivation: Argon2id\n`,
      {
        mode: 0o600,
      },
    )
    const { message } = await bench.failure(server, only(ppk))
    expect(message).toMatch(
      /it is a PuTTY key \(version 3, ssh-ed25519\).*puttygen KEY\.ppk -O private-openssh/,
    )
    const agent = bench.keep(await startAgent(bench.path('agent-putty')))
    agent.add(key)
    expect(await bench.method(server, { ...only(ppk), env: agent.env })).toBe(`publickey ${ppk} (agent)`)
  })

  it('in a library of PKCS#11 is named with what to do', async () => {
    const auth = { identityFiles: [], pkcs11Provider: '/usr/lib/opensc.so' }
    const { message } = await bench.failure(server, { auth })
    expect(message).toContain('PKCS11Provider /usr/lib/opensc.so is not supported')
    expect(message).toContain('ssh-add -s /usr/lib/opensc.so')
  })

  it('is read again when it has changed, although its last contents were unlocked', async () => {
    const key = accepted('changing', { passphrase: PASSPHRASE })
    const { asked, answer } = person(PASSPHRASE, 'another one')
    const connection = bench.connection(server, { ...only(key), answer })
    await connection.link()
    for (const file of [key, `${key}.pub`]) rmSync(file)
    accepted('changing', { passphrase: 'another one' })
    connection.drop()
    await connection.link()
    expect(asked).toHaveLength(2)
  })
})

describe('reading a key file', () => {
  it('tells the public half of an encrypted one without its passphrase', async () => {
    const key = makeKey(bench.folder, 'public-half', { passphrase: PASSPHRASE })
    const moved = copyKey(key, bench.path('public-half-alone'))
    const file = await readKeyFile(moved)
    expect(file.kind).toBe('encrypted')
    const [type, base64] = publicLine(key).split(' ')
    if (file.kind !== 'encrypted') throw new Error('it is encrypted')
    expect([file.publicKey?.type, file.publicKey?.blob.toString('base64')]).toEqual([type, base64])
  })
})

function copyPublic(key: string): string {
  const elsewhere = bench.path('elsewhere.pub')
  writeFileSync(elsewhere, `${publicLine(key)}\n`, { mode: 0o644 })
  return elsewhere
}
