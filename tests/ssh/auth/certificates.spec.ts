import { rmSync, writeFileSync } from 'node:fs'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { Authenticator } from '../../../src/ssh/auth/authenticator.ts'
import { collectIdentities } from '../../../src/ssh/auth/identities.ts'
import { closeGaps } from '../../../src/ssh/auth/library-gaps.ts'
import { Secrets } from '../../../src/ssh/auth/secrets.ts'
import { startAgent } from '../../support/auth-agent.ts'
import { AuthBench, person } from '../../support/auth-bench.ts'
import { certify, copyKey, makeKey, publicLine } from '../../support/auth-keys.ts'
import { settingsFor } from '../../support/rig.ts'
import { startSecurityKeyAgent } from '../../support/auth-security-key.ts'

const bench = new AuthBench()
let authority: string
/** Trusts certificates of the authority, and no key by itself. */
let server: DemoMachine

beforeAll(async () => {
  authority = makeKey(bench.folder, 'authority')
  server = await bench.sshd([`TrustedUserCAKeys ${authority}.pub`, 'AuthorizedKeysFile none'])
})
afterAll(() => bench.close())

const principals = (): readonly string[] => [server.user]

describe('a user certificate', () => {
  it.each(['ed25519', 'rsa', 'ecdsa'])('F22: beside its %s key lets us in', async (type) => {
    const key = makeKey(bench.folder, `beside-${type}`, { type })
    const certificate = certify(authority, key, { principals: principals() })
    const method = await bench.method(server, { auth: { identityFiles: [key] } })
    expect(method).toBe(`publickey ${certificate} (certificate)`)
  })

  it.each(['ed25519', 'rsa', 'ecdsa'])('F22: of CertificateFile lets us in with its %s key', async (type) => {
    const key = makeKey(bench.folder, `elsewhere-${type}`, { type })
    certify(authority, key, { principals: principals() })
    const moved = copyKey(key, bench.path(`moved-${type}`))
    const auth = { identityFiles: [moved], certificateFiles: [`${key}-cert.pub`] }
    expect(await bench.method(server, { auth })).toBe(`publickey ${key}-cert.pub (certificate)`)
  })

  it.each(['ed25519', 'rsa', 'ecdsa'])('F22: and its %s key in the agent let us in', async (type) => {
    const key = makeKey(bench.folder, `agent-${type}`, { type })
    certify(authority, key, { principals: principals() })
    const agent = bench.keep(await startAgent(bench.path(`agent-of-${type}`)))
    agent.add(key)
    const auth = { identityFiles: [], identitiesOnly: false }
    expect(await bench.method(server, { auth, env: agent.env })).toBe(
      `publickey agent-${type} (agent, certificate)`,
    )
  })

  it('F22: in a file is signed for by an agent that holds only the plain key', async () => {
    const key = makeKey(bench.folder, 'plain-in-agent')
    const certificate = certify(authority, key, { principals: principals() })
    const moved = copyKey(key, bench.path('plain-alone'))
    const agent = bench.keep(await startAgent(bench.path('agent-plain')))
    agent.add(moved)
    rmSync(key)
    const auth = { identityFiles: [key], identitiesOnly: true }
    expect(await bench.method(server, { auth, env: agent.env })).toBe(
      `publickey ${certificate} (certificate)`,
    )
    const failure = await bench.failure(server, { auth })
    expect(failure.message).toContain(
      `certificate ${certificate}: its private key is in no key file and in no agent`,
    )
  })

  it('F22: of an encrypted key asks for the passphrase once', async () => {
    const key = makeKey(bench.folder, 'encrypted', { passphrase: 'open sesame' })
    certify(authority, key, { principals: principals() })
    const { asked, answer } = person('open sesame')
    const method = await bench.method(server, { auth: { identityFiles: [key] }, answer })
    expect(method).toContain('(certificate)')
    expect(asked).toMatchObject([{ kind: 'passphrase', keyFile: key }])
  })

  it('survives the exchange of new session keys in the middle', async () => {
    const key = makeKey(bench.folder, 'rekeyed', { type: 'rsa' })
    certify(authority, key, { principals: principals() })
    const busy = await bench.sshd([
      `TrustedUserCAKeys ${authority}.pub`,
      'AuthorizedKeysFile none',
      'RekeyLimit 16K',
    ])
    const link = await bench.connect(busy, { auth: { identityFiles: [key] } })
    const exec = await link.exec('head -c 200000 /dev/zero')
    exec.stdout.resume()
    expect(await exec.exit).toMatchObject({ exitCode: 0 })
  })

  it.each([
    ['expired', { validity: '20200101:20210101' }, /it expired on 2021-01-01/],
    ['not valid yet', { validity: '20900101:20910101' }, /it is not valid before 2090-01-01/],
    ['for other accounts', { principals: ['ann', 'bob'] }, /it is for ann, bob, not for /],
    ['for a host', { host: true }, /it is a certificate for a host, not for a user/],
  ])('that is %s is named with just that', async (what, wish, reason) => {
    const key = makeKey(bench.folder, what.replaceAll(' ', '-'))
    certify(authority, key, { principals: principals(), ...wish })
    const failure = await bench.failure(server, { auth: { identityFiles: [key] } })
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect(failure.message).toMatch(reason)
    expect(failure.message).toContain(`${key}-cert.pub (certificate) was refused`)
  })

  it('of an authority that the server does not trust is refused, and the plain key still serves', async () => {
    const stranger = makeKey(bench.folder, 'other-authority')
    const key = makeKey(bench.folder, 'also-plain')
    certify(stranger, key, { principals: principals() })
    const failure = await bench.failure(server, { auth: { identityFiles: [key] } })
    expect(failure.message).toContain('the server may not trust its authority')
    writeFileSync(bench.path('plain-keys'), `${publicLine(key)}\n`)
    const plain = await bench.sshd([`AuthorizedKeysFile ${bench.path('plain-keys')}`])
    expect(await bench.method(plain, { auth: { identityFiles: [key] } })).toBe(`publickey ${key}`)
  })

  it.each([
    ['that is not there', 'no-such-cert.pub', /certificate .*no-such-cert\.pub does not exist/],
    ['that is a plain key', 'authority.pub', /certificate .*authority\.pub: it is a plain public key/],
  ])('in the configuration %s is named', async (_what, name, reason) => {
    const auth = { identityFiles: [authority], certificateFiles: [bench.path(name)] }
    expect((await bench.failure(server, { auth })).message).toMatch(reason)
  })
})

describe('a security key', () => {
  it('in an agent lets us in, and may be waited for longer than the limit of the attempt', async () => {
    const touch = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1200))
    const token = bench.keep(await startSecurityKeyAgent(bench.path('token'), touch))
    writeFileSync(bench.path('token-keys'), `${token.publicLine}\n`)
    const own = await bench.sshd([`AuthorizedKeysFile ${bench.path('token-keys')}`])
    const auth = { identityFiles: [], identitiesOnly: false }
    const settings = { connectTimeoutMs: 600 }
    expect(await bench.method(own, { auth, settings, env: token.env })).toBe('publickey token (agent)')
    expect(token.touches).toBe(1)
  })
})

describe('a library of another shape', () => {
  it('is left alone', () => {
    const touched: object = { authPK: (_user: string) => undefined, _handlers: {}, _packetRW: {} }
    for (const protocol of [undefined, touched, { ...touched, authPK: 'text' }]) {
      const before = { ...protocol }
      const client = Object.assign(new ssh2.Client(), { _protocol: protocol })
      expect(closeGaps(client, () => undefined)).toBe(false)
      expect({ ...protocol }).toEqual(before)
    }
  })

  it('offers no certificate, says so, and goes on with plain keys', async () => {
    const key = makeKey(bench.folder, 'unshaped')
    certify(authority, key, { principals: principals() })
    const settings = settingsFor(server)
    const auth = { ...settings.auth, identityFiles: [key] }
    const authenticator = new Authenticator({
      settings: { ...settings, auth },
      identities: await collectIdentities(auth, {}, 'linux'),
      secrets: new Secrets(),
      ask: () => Promise.resolve({ kind: 'nobody' }),
      standStill: (work) => work(),
    })
    authenticator.attach(new ssh2.Client(), () => undefined)
    expect(await authenticator.next(undefined, false)).toMatchObject({ type: 'publickey' })
    await expect(authenticator.next(['publickey'], false)).rejects.toThrow(
      /ssh-ed25519-cert-v01@openssh\.com cannot be used with this version of the SSH library/,
    )
  })
})
