/** Faults that readers of ssh_config have had elsewhere; each title says what is right. */
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { previewSettings, resolveHop, resolveSettings } from '../../../src/ssh/config/resolve.ts'
import { SSH, Workbench } from './workbench.ts'

describe('keys of an entry', () => {
  it('F01: uses the port of the entry when none is typed', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host box', '  HostName 127.0.0.1', '  Port 42201')
    expect(await bench.settings('box')).toMatchObject({ host: '127.0.0.1', port: 42201 })
    expect(await bench.settings('other')).toMatchObject({ host: 'other', port: 22 })
  })
})

describe('Include', () => {
  it('F02: follows an Include after a Host block and one inside of a block, in lexical order', async () => {
    const bench = new Workbench()
    const { folder } = bench
    bench.write(
      'config',
      'Host *',
      '  ForwardAgent yes',
      `Include ${folder}/conf.d/*.conf`,
      'Host work-*',
      `  Include ${folder}/work`,
      '  Port 1',
    )
    bench.write('conf.d/b.conf', 'Host two', '  Port 2', 'Host both', '  User late')
    bench.write('conf.d/a.conf', 'Host one', '  Port 1', 'Host both', '  User early')
    bench.write('conf.d/ignored.txt', 'Host not-this')
    bench.write('work', 'User worker', 'Host work-7', '  HostName seven', 'Host other', '  Port 9')
    expect(bench.list().aliases).toEqual(['one', 'both', 'two', 'work-7', 'other'])
    expect(bench.list().warnings).toEqual([])
    expect((await bench.settings('both')).user).toBe('early')
    expect(await bench.settings('work-7')).toMatchObject({ user: 'worker', host: 'seven', port: 1 })
    expect((await bench.settings('other')).port).toBe(22)
  })

  it('F02: begins relative paths at ~/.ssh, also in an included file, and at the system folder for its file', async () => {
    const bench = new Workbench()
    bench.write('home/.ssh/config', 'Include conf.d/*.conf')
    bench.write('home/.ssh/conf.d/a.conf', 'Include deeper', 'Host a')
    bench.write('home/.ssh/deeper', 'Host deep', '  Port 5')
    bench.write('home/.ssh/conf.d/deeper', 'Host wrong')
    bench.write('etc/ssh_config', 'Include ssh_config.d/*.conf', 'Include ~/nope', 'Host sys')
    bench.write('etc/ssh_config.d/x.conf', 'Host x')
    const list = bench.list(bench.pair)
    expect(list.aliases).toEqual(['deep', 'a', 'x', 'sys'])
    expect(list.warnings).toEqual([expect.stringContaining('cannot include "~/nope"')])
    expect((await bench.own('deep', bench.pair)).port).toBe(5)
  })

  it('F02: ignores missing files and names them, so that their appearance is noticed', () => {
    const bench = new Workbench()
    const { folder } = bench
    bench.write('config', `Include ${folder}/later ${folder}/none.d/*.conf`, 'Host a')
    const { aliases, files, warnings } = bench.list()
    expect(aliases).toEqual(['a'])
    expect(warnings).toEqual([])
    expect([...files].sort()).toEqual([`${folder}/config`, `${folder}/later`, `${folder}/none.d`])
  })

  it('F04: ends at a file that includes itself, at a circle and at depth 16, with one warning each', async () => {
    const bench = new Workbench()
    const { folder } = bench
    bench.write('config', `Include ${folder}/config ${folder}/a ${folder}/n1`, 'Host top', '  Port 7')
    bench.write('a', `Include ${folder}/b`, 'Host in-a')
    bench.write('b', `Include ${folder}/a`, 'Host in-b')
    for (let depth = 1; depth <= 20; depth++) {
      bench.write(`n${depth}`, `Host at-${depth}`, `Include ${folder}/n${depth + 1}`)
    }
    const { aliases, warnings } = bench.list()
    const reached = Array.from({ length: 16 }, (_, index) => `at-${index + 1}`)
    expect(aliases).toEqual(['in-b', 'in-a', ...reached, 'top'])
    expect(warnings).toEqual([
      `${folder}/config:1: ${folder}/config includes itself, not followed again`,
      `${folder}/b:1: ${folder}/a includes itself, not followed again`,
      `${folder}/n16:2: files are included too deep, not followed`,
    ])
    expect((await bench.own('top')).port).toBe(7)
  })

  it('F04: lists files that all include each other without walking every path between them', async () => {
    const bench = new Workbench()
    const { folder } = bench
    const names = Array.from({ length: 14 }, (_, index) => `f${index}.conf`)
    bench.write('config', `Include ${folder}/*.conf`)
    for (const name of names) bench.write(name, `Include ${folder}/*.conf`, `Host ${name}`)
    expect(bench.list().aliases).toHaveLength(14)
    await expect(bench.own('f1.conf')).rejects.toMatchObject({ code: 'bad-config' })
  })

  it('takes a dangling link for a missing file and a folder for an empty one', () => {
    const bench = new Workbench()
    const { folder } = bench
    bench.write('conf.d/folder/inner', 'Host hidden')
    symlinkSync(join(folder, 'nowhere'), join(folder, 'conf.d', 'dangling'))
    bench.write('config', `Include ${folder}/conf.d/*`, 'Host a')
    expect(bench.list()).toMatchObject({ aliases: ['a'], warnings: [] })
  })
})

describe('blocks', () => {
  it('F05: begins a block at Match as well as at Host', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host web1', '  User alice', 'Match host "web*"', '  User bob')
    expect((await bench.settings('web1')).user).toBe('alice')
    expect((await bench.settings('web2')).user).toBe('bob')
    expect(bench.list().aliases).toEqual(['web1'])
  })

  it('F07: keeps the first value, adds up IdentityFile, and lets a negated pattern shut a name out', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      'Host db* !db9',
      '  User first',
      '  IdentityFile ~/one',
      '  IdentityFile ~/two',
      'Host *',
      '  User second',
      '  IdentityFile ~/three',
      '  IdentityFile ~/one',
    )
    const { home } = bench.facts
    const db1 = await bench.settings('db1')
    expect(db1.user).toBe('first')
    expect(db1.auth.identityFiles).toEqual([`${home}/one`, `${home}/two`, `${home}/three`])
    expect((await bench.settings('db9')).user).toBe('second')
  })

  it('holds Host patterns against the typed name with its case, and Match host without', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host UPPER', '  Port 1', 'Match host upper', '  User any-case')
    expect(await bench.settings('UPPER')).toMatchObject({ port: 1, user: 'any-case', host: 'upper' })
    expect(await bench.settings('upper')).toMatchObject({ port: 22, user: 'any-case' })
  })
})

describe('Match exec', () => {
  it('F08: runs a command only when connecting, and only when the criteria before it hold', async () => {
    for (const sshProgram of [undefined, SSH]) {
      const bench = new Workbench()
      const ran = join(bench.folder, 'RAN')
      bench.write('config', `Match originalhost other exec "touch ${ran}"`, '  Port 7', 'Host box other')
      const sources = { ...bench.sources, sshProgram }
      expect(bench.list(sources).aliases).toEqual(['box', 'other'])
      expect((await previewSettings('other', sources, bench.facts)).port).toBe(22)
      expect((await resolveSettings('box', sources, undefined, bench.facts)).port).toBe(22)
      expect(existsSync(ran)).toBe(false)
      expect((await resolveSettings('other', sources, undefined, bench.facts)).port).toBe(7)
      expect(existsSync(ran)).toBe(true)
    }
  })

  it('shows settings without the blocks that a command decides, either way', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      'Match exec true',
      '  Port 7',
      'Match !exec false',
      '  Port 8',
      'Host *',
      '  Port 9',
    )
    expect((await previewSettings('box', bench.sources, bench.facts)).port).toBe(9)
    expect((await bench.settings('box')).port).toBe(7)
  })

  it('runs no command in a file that a block which does not hold includes', async () => {
    const bench = new Workbench()
    const ran = join(bench.folder, 'RAN')
    bench.write('config', 'Host elsewhere', `  Include ${bench.folder}/inner`)
    bench.write('inner', `Match exec "touch ${ran}"`, '  Port 7')
    expect((await bench.own('box')).port).toBe(22)
    expect(existsSync(ran)).toBe(false)
  })

  it('does not wait for what a command leaves running in the background', async () => {
    const bench = new Workbench()
    bench.write('config', 'Match exec "sleep 3 & true"', '  Port 7')
    expect((await bench.settings('box')).port).toBe(7)
  })
})

describe('comments and quotes', () => {
  it('F10: takes comments off every line but a command, whatever quotes they hold', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      "# Bob's box",
      'Host nas # don\'t touch "this',
      '  HostName 127.0.0.1 # lan',
      '  User "with # hash" # and a comment',
      'Match all # added by tool',
      '  Port 42',
    )
    expect(bench.list()).toMatchObject({ aliases: ['nas'], warnings: [] })
    expect(await bench.settings('nas')).toMatchObject({ host: '127.0.0.1', user: 'with # hash', port: 42 })
  })

  it('F10: loses only the line whose quote is not closed', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host a', '  User "open', '  Port 3', 'Host "b', '  Port 4', 'Host c', '  Port 5')
    expect(bench.list().aliases).toEqual(['a', 'c'])
    expect(bench.list().warnings).toHaveLength(2)
    expect(await bench.own('a')).toMatchObject({ port: 3, user: bench.facts.user })
    expect((await bench.own('b')).port).toBe(22)
    await expect(bench.bySsh('a')).rejects.toMatchObject({ code: 'bad-config' })
  })

  it('F11: passes a ProxyCommand on byte for byte, with "=", "#" and inner blanks', async () => {
    const bench = new Workbench()
    const command = 'ssh -o StrictHostKeyChecking=no -W %h:%p  jump # not "a comment"'
    bench.write('config', 'Host box', '  HostName 10.0.0.9', '  Port 77', `  ProxyCommand = ${command}  `)
    expect((await bench.settings('box')).proxyCommand).toBe(
      'ssh -o StrictHostKeyChecking=no -W 10.0.0.9:77  jump # not "a comment"',
    )
  })
})

describe('jump hosts', () => {
  it('F13: takes "ProxyJump none" for no jump', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host bastion', '  ProxyJump none', 'Host *', '  ProxyJump bastion')
    expect((await bench.settings('bastion')).proxyJump).toEqual([])
    expect((await bench.settings('box')).proxyJump).toEqual(['bastion'])
  })

  it('takes a comment behind "none" for a comment', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host box', '  ProxyJump none # direct')
    expect((await bench.settings('box')).proxyJump).toEqual([])
  })

  it('F13: refuses a machine that jumps through itself', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host *', '  ProxyJump bastion')
    await expect(bench.bySsh('bastion')).rejects.toMatchObject({ code: 'bad-config', stage: 'config' })
    await expect(bench.own('bastion')).rejects.toMatchObject({ code: 'bad-config', stage: 'config' })
  })

  it('lets whichever of ProxyJump and ProxyCommand comes first shut the other out', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      'Host jump-first',
      '  ProxyJump a,u@b:22,[::1]:99,ssh://c:7',
      'Host command-first',
      '  ProxyCommand nc %h %p',
      'Host neither',
      '  ProxyCommand none',
      'Host *',
      '  ProxyCommand late',
      '  ProxyJump late',
    )
    const jump = await bench.settings('jump-first')
    expect(jump).toMatchObject({ proxyJump: ['a', 'u@b:22', '[::1]:99', 'c:7'], proxyCommand: undefined })
    const command = await bench.settings('command-first')
    expect(command).toMatchObject({ proxyJump: [], proxyCommand: 'nc command-first 22' })
    expect(await bench.settings('neither')).toMatchObject({ proxyJump: [], proxyCommand: undefined })
  })

  it('F14: resolves a hop by its own blocks, with its own user and key, and what the hop names first', async () => {
    const bench = new Workbench()
    bench.write(
      'config',
      'Host jump',
      '  User j',
      '  IdentityFile /keys/J-%r-%p',
      'Match host jump user other',
      '  HashKnownHosts yes',
      'Host target',
      '  User t',
      '  IdentityFile /keys/T',
      '  ProxyJump jump',
    )
    for (const sshProgram of [undefined, SSH]) {
      const sources = { ...bench.sources, sshProgram }
      const hop = await resolveHop('jump', sources, undefined, bench.facts)
      expect(hop).toMatchObject({ alias: 'jump', user: 'j', port: 22, proxyJump: [] })
      expect(hop.auth.identityFiles).toEqual(['/keys/J-j-22'])
      const named = await resolveHop('other@jump:2201', sources, undefined, bench.facts)
      expect(named).toMatchObject({ user: 'other', port: 2201, hostKeys: { hashed: true } })
      expect(named.auth.identityFiles).toEqual(['/keys/J-other-2201'])
      const address = await resolveHop('u@[::1]:42201', sources, undefined, bench.facts)
      expect(address).toMatchObject({ alias: '::1', host: '::1', port: 42201, user: 'u' })
    }
  })
})

describe('snippets of other programs', () => {
  const SNIPPET = [
    'Host unix/* unix%* vsock/* vsock%* machine/* machine%*',
    '    ProxyCommand /usr/lib/systemd/systemd-ssh-proxy %h %p',
    '    ProxyUseFdpass yes',
    '    CheckHostIP no',
    'Host .host',
    '    ProxyCommand /usr/lib/systemd/systemd-ssh-proxy unix/run/ssh-unix-local/socket %p',
    '    ProxyUseFdpass yes',
  ]

  it('F16: keeps all other machines and says of a chosen one that it is not supported', async () => {
    const bench = new Workbench()
    bench.write('config', ...SNIPPET, 'Host box', '  Port 7')
    expect(bench.list()).toMatchObject({ aliases: ['.host', 'box'], warnings: [] })
    expect((await bench.settings('box')).port).toBe(7)
    for (const alias of ['.host', 'machine/x']) {
      const refusal = {
        code: 'unsupported',
        stage: 'config',
        message: expect.stringContaining('ProxyUseFdpass') as string,
      }
      await expect(bench.bySsh(alias)).rejects.toMatchObject(refusal)
      await expect(bench.own(alias)).rejects.toMatchObject(refusal)
    }
  })
})

describe('unknown keywords', () => {
  it('goes on after one, with a warning, by either source', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host box', '  FancyNewThing yes', '  Port 7', 'IgnoreUnknown Quiet*', 'QuietOne x')
    expect(bench.list().warnings).toEqual([expect.stringContaining('unknown keyword "fancynewthing"')])
    expect((await bench.settings('box')).port).toBe(7)
  })

  it('gives the lines below a mistyped Host to nobody', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host a', '  Port 3', 'Hsot b', '  HostName wrong.example', 'Host c', '  Port 5')
    expect(await bench.own('a')).toMatchObject({ host: 'a', port: 3 })
    expect(await bench.own('c')).toMatchObject({ host: 'c', port: 5 })
    await expect(bench.bySsh('a')).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining('hsot') as string,
    })
  })

  it('passes over a keyword that IgnoreUnknown names, whatever it resembles', async () => {
    const bench = new Workbench()
    bench.write('config', 'IgnoreUnknown hots', 'Host a', '  Hots x', '  Port 3')
    expect((await bench.settings('a')).port).toBe(3)
    expect(bench.list().warnings).toEqual([])
  })

  it('reads a file that begins with a byte order mark', async () => {
    const bench = new Workbench()
    writeFileSync(bench.write('config'), '\uFEFFHost a\r\n  Port 3\r\nHost b\r\n', { mode: 0o600 })
    expect(bench.list()).toMatchObject({ aliases: ['a', 'b'], warnings: [] })
    expect((await bench.own('a')).port).toBe(3)
    expect((await bench.own('b')).port).toBe(22)
  })
})
