import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DEFAULTS, offer } from '../../../src/ssh/algorithms.ts'
import { CancelledError } from '../../../src/base/failure.ts'
import { applyAlgorithms } from '../../../src/ssh/config/algorithms.ts'
import { isUsableAlias, resolveHop, resolveSettings } from '../../../src/ssh/config/resolve.ts'
import { SSH, Workbench } from './workbench.ts'

describe('a machine that is asked for', () => {
  it('is a host name where no block mentions it', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host other', '  Port 7')
    expect(await bench.settings('Some.Host.example')).toMatchObject({
      alias: 'Some.Host.example',
      host: 'some.host.example',
      port: 22,
      user: bench.facts.user,
    })
  })

  it('may come with a user, and as a URI with a port, which go before the configuration', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      'Host box',
      '  User configured',
      '  Port 7',
      'Match user typed',
      '  HashKnownHosts yes',
    )
    expect(await bench.settings('typed@box')).toMatchObject({
      user: 'typed',
      port: 7,
      hostKeys: { hashed: true },
    })
    expect(await bench.settings('ssh://typed@box:99')).toMatchObject({
      alias: 'box',
      user: 'typed',
      port: 99,
    })
    expect(await bench.settings('ssh://box')).toMatchObject({ user: 'configured', port: 7 })
  })

  it.each([
    '',
    '-oProxyCommand=touch x',
    '--',
    'a b',
    'a\nb',
    'a\0b',
    'x;reboot',
    '$(x)',
    '@host',
    'user@',
    "u'x@host",
    'ssh://',
    'ssh://host/path',
    'ssh://host:0',
  ])('cannot be called %j', async (alias) => {
    const bench = new Workbench()
    bench.write('config', 'Host *', '  Port 7')
    expect(isUsableAlias(alias)).toBe(false)
    for (const resolved of [bench.own(alias), bench.bySsh(alias)]) {
      await expect(resolved).rejects.toMatchObject({ code: 'bad-config', stage: 'config', machine: alias })
    }
  })

  it('is refused with the words of ssh when ssh refuses its configuration', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host box', '  Port many')
    await expect(bench.bySsh('box')).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringMatching(/config line 2: Bad port 'many'/) as string,
    })
    // The rest of the file still serves where there is no ssh.
    expect((await bench.own('box')).port).toBe(22)
  })

  it('is refused when the only file is missing, or the program is', async () => {
    const bench = new Workbench()
    for (const sshProgram of [undefined, SSH, '/nowhere/ssh']) {
      const resolved = resolveSettings('box', { ...bench.sources, sshProgram }, undefined, bench.facts)
      await expect(resolved).rejects.toMatchObject({ code: 'bad-config', stage: 'config' })
    }
  })

  it('is refused when the only file cannot be read', async () => {
    const bench = new Workbench()
    const sources = { ...bench.sources, onlyFile: join(bench.folder, 'x'.repeat(300)) }
    for (const sshProgram of [undefined, SSH]) {
      const resolved = resolveSettings('box', { ...sources, sshProgram }, undefined, bench.facts)
      await expect(resolved).rejects.toMatchObject({ code: 'bad-config', stage: 'config' })
    }
  })

  it('leaves no command of Match exec behind when the caller leaves', async () => {
    for (const sshProgram of [undefined, SSH]) {
      const bench = new Workbench()
      const started = join(bench.folder, 'started')
      bench.write('config', `Match exec "touch ${started}; sleep 300"`, '  Port 7')
      const leave = new AbortController()
      const resolved = resolveSettings('box', { ...bench.sources, sshProgram }, leave.signal, bench.facts)
      while (!existsSync(started)) await new Promise((resolve) => setTimeout(resolve, 20))
      leave.abort()
      await expect(resolved).rejects.toThrow(CancelledError)
    }
  })

  it('is asked of ssh without a shell, and the same ssh may be a script', async () => {
    const bench = new Workbench()
    const program = bench.write('my $(ssh)', '#!/bin/sh', `exec ${SSH} "$@"`)
    chmodSync(program, 0o755)
    bench.write('config', 'Host box', '  Port 7')
    const sources = { ...bench.sources, sshProgram: program }
    expect((await resolveSettings('box', sources, undefined, bench.facts)).port).toBe(7)
  })
})

describe('values', () => {
  it('have their tokens, variables and "~" expanded', async () => {
    const bench = new Workbench({ KEYS: '/var/keys', AGENT: '/run/agent' })
    bench.write(
      'config',
      'Host box',
      '  HostName %h.example',
      '  User me',
      '  Port 77',
      '  IdentityFile ~/.ssh/%n_%h_%p_%r',
      '  IdentityFile ${KEYS}/%%h',
      '  CertificateFile %d/cert-%u-%i',
      '  UserKnownHostsFile ~/hosts_%k "/with blank/x"',
      '  IdentityAgent $AGENT',
      '  ProxyCommand nc %h %p %r %n 100%%',
    )
    const { home, user, uid } = bench.facts
    const settings = await bench.settings('box')
    expect(settings.host).toBe('box.example')
    expect(settings.auth.identityFiles).toEqual([`${home}/.ssh/box_box.example_77_me`, '/var/keys/%h'])
    expect(settings.auth.certificateFiles).toEqual([`${home}/cert-${user}-${uid}`])
    expect(settings.hostKeys.userFiles).toEqual([`${home}/hosts_box`, '/with blank/x'])
    expect(settings.auth.agent).toEqual({ kind: 'path', path: '/run/agent' })
    expect(settings.proxyCommand).toBe('nc box.example 77 me box 100%')
  })

  it.each([
    'IdentityFile /k/%z',
    'IdentityFile ${NOT_SET}/k',
    'IdentityFile ${broken',
    'IdentityFile ~no_such_user_here/k',
    'ProxyCommand nc %h %u',
    'UserKnownHostsFile /k/%z',
    'IdentityAgent ${NOT_SET}',
    'HostName %p.example',
  ])('refuse what cannot be expanded: %s', async (line) => {
    const bench = new Workbench()
    bench.write('config', line)
    await expect(bench.own('box')).rejects.toMatchObject({ code: 'bad-config', stage: 'config' })
    await expect(bench.bySsh('box')).rejects.toMatchObject({ code: 'bad-config', stage: 'config' })
  })

  it.each([
    ['yes', 'yes'],
    ['ask', 'ask'],
    ['accept-new', 'accept-new'],
    ['no', 'no'],
    ['off', 'no'],
  ])('know the five answers of StrictHostKeyChecking: %s', async (written, policy) => {
    const bench = new Workbench()
    bench.write('config', `StrictHostKeyChecking ${written}`)
    expect((await bench.settings('box')).hostKeys.policy).toBe(policy)
  })

  it.each([
    ['', { kind: 'environment' }],
    ['IdentityAgent SSH_AUTH_SOCK', { kind: 'environment' }],
    ['IdentityAgent none', { kind: 'none' }],
    ['IdentityAgent $MYSOCK', { kind: 'path', path: '/run/mine' }],
    ['IdentityAgent ${MYSOCK}', { kind: 'path', path: '/run/mine' }],
    ['IdentityAgent $NOT_SET', { kind: 'none' }],
    ['IdentityAgent "/run/a b"', { kind: 'path', path: '/run/a b' }],
  ])('know every form of IdentityAgent: %s', async (line, agent) => {
    const bench = new Workbench({ MYSOCK: '/run/mine' })
    bench.write('config', line)
    expect((await bench.settings('box')).auth.agent).toEqual(agent)
  })

  it('know the library of PKCS#11 that is configured, where one is', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host a', '  PKCS11Provider /usr/lib/opensc.so', 'Host b', '  PKCS11Provider none')
    for (const of of [bench.own.bind(bench), bench.bySsh.bind(bench)]) {
      expect((await of('a')).auth.pkcs11Provider).toBe('/usr/lib/opensc.so')
      expect((await of('b')).auth.pkcs11Provider).toBeUndefined()
    }
  })

  it.each([
    '\\\\\\\\.\\\\pipe\\\\openssh-ssh-agent',
    '\\\\.\\pipe\\openssh-ssh-agent',
    '//./pipe/openssh-ssh-agent',
  ])('spell the pipe of an agent on Windows as Windows does: %s', async (written) => {
    const bench = new Workbench()
    bench.write('config', `IdentityAgent ${written}`)
    const facts = { ...bench.facts, platform: 'win32' as const }
    const { auth } = await resolveSettings('box', bench.sources, undefined, facts)
    expect(auth.agent).toEqual({ kind: 'path', path: '\\\\.\\pipe\\openssh-ssh-agent' })
  })

  it('take the paths of a POSIX layer on Windows as Windows opens them', async () => {
    const bench = new Workbench()
    bench.write('config', 'IdentityFile /c/Users/me/key', 'UserKnownHostsFile /d/hosts')
    const facts = { ...bench.facts, platform: 'win32' as const }
    const { auth, hostKeys } = await resolveSettings('box', bench.sources, undefined, facts)
    expect(auth.identityFiles).toEqual(['C:/Users/me/key'])
    expect(hostKeys.userFiles).toEqual(['D:/hosts'])
  })

  it('have lists of algorithms only where they are configured', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host plain', 'Host old', '  HostKeyAlgorithms +ssh-rsa', '  Ciphers aes128-ctr')
    for (const settings of [await bench.own('plain'), await bench.bySsh('plain')]) {
      expect(Object.values(settings.algorithms)).toEqual([undefined, undefined, undefined, undefined])
    }
    const known = ['ssh-ed25519', 'rsa-sha2-512', 'ssh-rsa']
    for (const { algorithms } of [await bench.own('old'), await bench.bySsh('old')]) {
      expect(applyAlgorithms(algorithms.hostKeys, known.slice(0, 2), known)).toEqual(known)
      expect(applyAlgorithms(algorithms.ciphers, ['aes256-ctr'], ['aes256-ctr', 'aes128-ctr'])).toEqual([
        'aes128-ctr',
      ])
      expect(algorithms.macs).toBeUndefined()
    }
  })

  it('keep our order of ciphers where the configuration only adds some', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      'Host nothing',
      'Host more',
      '  Ciphers +3des-cbc',
      'Host first',
      '  Ciphers ^aes256-ctr',
    )
    for (const settings of [(alias: string) => bench.own(alias), (alias: string) => bench.bySsh(alias)]) {
      const offered = async (alias: string): Promise<string[]> =>
        offer('cipher', (await settings(alias)).algorithms.ciphers, alias)
      expect(await offered('nothing')).toEqual(DEFAULTS.cipher)
      expect(await offered('more')).toEqual([...DEFAULTS.cipher, '3des-cbc'])
      expect(await offered('first')).toEqual([...new Set(['aes256-ctr', ...DEFAULTS.cipher])])
    }
  })

  it('leave times to us that the configuration does not set', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      'Host set',
      '  ConnectTimeout 1m30s',
      '  ServerAliveInterval 20',
      '  ServerAliveCountMax 5',
      'Host zero',
      '  ConnectTimeout 0',
      '  ServerAliveInterval 0',
      'Host batch',
      '  BatchMode yes',
    )
    expect(await bench.settings('set')).toMatchObject({
      connectTimeoutMs: 90_000,
      keepaliveIntervalMs: 20_000,
      keepaliveCountMax: 5,
    })
    for (const alias of ['zero', 'batch', 'unset']) {
      const settings = await bench.settings(alias)
      expect(settings.connectTimeoutMs).toBeUndefined()
      expect(settings.keepaliveIntervalMs).toBeUndefined()
    }
  })

  it('name no key for "IdentityFile none", and no known hosts file for "none"', async () => {
    const bench = new Workbench()
    bench.write('config', 'IdentityFile none', 'UserKnownHostsFile none', 'GlobalKnownHostsFile /dev/null')
    const { auth, hostKeys } = await bench.settings('box')
    expect(auth.identityFiles).toEqual([])
    expect(hostKeys).toMatchObject({ userFiles: [], globalFiles: ['/dev/null'] })
  })

  it.each(['::1', '[::1]', '0:0::1'])('give IPv6 addresses without brackets: %s', async (address) => {
    const bench = new Workbench()
    bench.write('config', `HostName ${address}`)
    expect((await bench.settings('box')).host).toBe('::1')
  })

  it('refuse a list of revoked keys, which could not be heeded', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host a', '  RevokedHostKeys /etc/ssh/revoked', 'Host b', '  RevokedHostKeys none')
    await expect(bench.own('a')).rejects.toMatchObject({ code: 'unsupported' })
    await expect(bench.bySsh('a')).rejects.toMatchObject({ code: 'unsupported' })
    expect((await bench.settings('b')).host).toBe('b')
  })
})

describe('a hop', () => {
  it.each(['', 'a b', 'u@', '@h', 'h:0', 'h:99999', 'a,b', '-x', '[::1', 'h:1:2'])(
    'cannot be %j',
    async (hop) => {
      const bench = new Workbench()
      bench.write('config')
      await expect(resolveHop(hop, bench.sources, undefined, bench.facts)).rejects.toMatchObject({
        code: 'bad-config',
      })
    },
  )
})
