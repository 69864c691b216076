/** Accounts and machines that can do only a part, each real and each told as it is. */
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startOpenSsh, type OpenSshOptions } from '../../scripts/machine/openssh.ts'
import { MARK } from '../../scripts/machine/machine.ts'
import { findProgram } from '../../scripts/project/programs.ts'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { isSame } from '../../src/remote/roots.ts'
import type { Shell } from '../../src/remote/capabilities.ts'
import type { MachineSession } from '../../src/remote/session.ts'
import { shellKindOf } from '../../src/remote/shell/login-shell.ts'
import { ChannelError, LinkLostError } from '../../src/ssh/errors.ts'
import { outputOf } from '../support/command-output.ts'
import { startLoginShells } from '../support/login-shells.ts'
import { rigOf, startRig, type Rig } from '../support/rig.ts'

const EXTERNAL = 'Subsystem sftp /usr/lib/openssh/sftp-server'
/** Any line of that kind replaces the rig's SFTP service; this one leaves it without any. */
const NO_SERVICE = 'Subsystem nothing /bin/true'
/** A view of this computer in which the program is no file. */
const NO_PROGRAM = ['bwrap', '--dev-bind', '/', '/', '--ro-bind', '/dev/null', '/usr/lib/openssh/sftp-server']

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function rigWith(options: Partial<OpenSshOptions>): Promise<Rig> {
  const rig = await startRig(options)
  ends.push(() => rig.stop())
  return rig
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => {
      throw new Error(`no failure, but ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )

async function readBack({ folder, files }: Rig): Promise<string> {
  writeFileSync(join(folder, 'f'), 'content')
  return files.readText({ path: parseRemotePath(join(folder, 'f')), shown: 'f' })
}

function shellOf({ capabilities: { commands } }: MachineSession): Shell {
  if (commands.kind === 'none') throw new Error(commands.reason)
  return commands.shell
}

describe('an account', () => {
  it('F100: that has only files is told as such, in the words of its machine', async () => {
    const rig = await rigWith({ sshdConfig: ['ForceCommand internal-sftp'] })
    const session = await rig.machine.session()
    expect(session.capabilities).toMatchObject({
      commands: {
        kind: 'none',
        reason: 'this account runs no commands; it says: This service allows sftp connections only.',
      },
      loginShell: 'unknown',
      sftp: { kind: 'sftp', way: { kind: 'service' } },
      roots: { kind: 'unknown' },
    })
    expect(session.shell).toBeUndefined()
    expect(() => session.requireShell()).toThrow(ChannelError)
    expect(await readBack(rig)).toBe('content')
  })

  it('whose login shell refuses everybody has files, and the reason for the rest', async () => {
    const shells = await startLoginShells(['nologin', 'false'], ['Subsystem sftp internal-sftp'])
    ends.push(() => shells.stop())
    for (const name of ['nologin', 'false'] as const) {
      const { machine, files } = shells.visit(name)
      const { capabilities } = await machine.session()
      expect(capabilities.loginShell).toBe('nologin')
      expect(capabilities.commands).toMatchObject({
        kind: 'none',
        reason: expect.stringMatching(/runs no commands/) as string,
      })
      const file = { path: parseRemotePath(join(shells.accounts[name].home, 'f')), shown: 'f' }
      await files.write(file, 'content', { kind: 'none' }, 10)
      expect(await files.readText(file)).toBe('content')
    }
  })

  it('whose login shell refuses everybody has no files either where SFTP goes through it', async () => {
    const shells = await startLoginShells(['nologin', 'false'])
    ends.push(() => shells.stop())
    const spoken = (await shells.visit('nologin').machine.session()).capabilities
    expect(spoken.loginShell).toBe('nologin')
    expect(spoken.sftp).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('("This account is currently not available.")') as string,
    })
    const silent = (await shells.visit('false').machine.session()).capabilities
    expect(silent.sftp).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('it ended at once (exit code 1)') as string,
    })
  })

  it('F55: whose login script waits for an answer gets an error in time, and no channel is left each time', async () => {
    const shells = await startLoginShells(['bash'], ['MaxSessions 2'])
    ends.push(() => shells.stop())
    const link = await shells.visit('bash').machine.connection.link()
    shells.accounts.bash.write('.bashrc', 'read -r answer\n')
    link.requestMs = 300
    let last: unknown
    const failures = new Set<unknown>()
    while (failures.size < 5) {
      const failure = await failureOf(link.sftp())
      expect(failure).toBeInstanceOf(LinkLostError)
      expect((failure as Error).message).toContain('SFTP did not start within 0.3 s')
      // Whoever asks again soon is told of the last attempt, at once.
      if (failure !== last) expect(await failureOf(link.sftp())).toBe(failure)
      failures.add(failure)
      last = failure
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await new Promise((resolve) => setTimeout(resolve, 1000))
    shells.accounts.bash.remove('.bashrc')
    link.requestMs = 10_000
    expect(await (await link.sftp()).realpath('.')).toBe(shells.accounts.bash.home)
  })
})

describe('a server without an SFTP service', () => {
  it('has files all the same where the program is there', async () => {
    const rig = await rigWith({ sshdConfig: [NO_SERVICE] })
    const session = await rig.machine.session()
    expect(session.capabilities.sftp).toMatchObject({
      kind: 'sftp',
      way: {
        kind: 'program',
        program: '/usr/lib/openssh/sftp-server',
        reason: 'its SSH server offers no SFTP',
      },
    })
    // It stays open for as long as the connection does, and must not keep that from ever being idle.
    expect(session.link.commandsRunning).toBe(0)
    expect(await readBack(rig)).toBe('content')
  })

  it('F46: nor the program says so each of 20 times, on one connection, and no channel is left', async () => {
    const rig = await rigWith({ sshdConfig: [NO_SERVICE, 'MaxSessions 4'], within: NO_PROGRAM })
    const session = await rig.machine.session()
    expect(session.sftpAvailable).toBe(false)
    const failures: unknown[] = []
    for (let attempt = 1; attempt <= 20; attempt += 1) failures.push(await failureOf(readBack(rig)))
    expect(new Set(failures.map((failure) => (failure as Error).message))).toEqual(
      new Set(['demo: its SSH server offers no SFTP, and there is no sftp-server program to run instead']),
    )
    expect(failures.every((failure) => failure instanceof ChannelError && failure.code === 'no-sftp')).toBe(
      true,
    )
    expect(await rig.machine.session()).toBe(session)
    expect(session.link.commandsRunning).toBe(0)
    // As many as the server allows on this connection: each would be refused if another channel were open.
    const channels = await Promise.all([1, 2, 3, 4].map(() => session.link.exec('cat')))
    for (const channel of channels) {
      channel.stdout.resume()
      channel.close()
    }
    await Promise.all(channels.map((channel) => channel.closed))
  })

  it('F46: nor any of the two after a login script has printed names the cause and what to do', async () => {
    const shells = await startLoginShells(['bash'], [EXTERNAL])
    ends.push(() => shells.stop())
    const { bash } = shells.accounts
    // The script also takes the place of what is run: there is no way around it.
    bash.write('.bashrc', 'echo "Welcome to the menu"; exit 0\n')
    const { capabilities } = await shells.visit('bash').machine.session()
    expect(capabilities.sftp).toMatchObject({
      kind: 'none',
      reason: expect.stringMatching(
        /text comes instead of SFTP \("Welcome to the menu"\).*print only in interactive shells/,
      ) as string,
    })
    expect(capabilities.commands).toMatchObject({
      kind: 'none',
      reason: 'this account runs no commands; it says: Welcome to the menu',
    })
  })
})

describe('a machine that lacks much', () => {
  it('F71: is told by what it does, not by what it should have', async () => {
    const folder = mkdtempSync('/var/tmp/presence-bare-')
    const few = join(folder, 'few')
    mkdirSync(few)
    for (const name of ['id', 'uname', 'readlink', 'cat'])
      symlinkSync(findProgram(name) ?? '', join(few, name))
    const environment = `SetEnv ${MARK}=${folder} PATH=${few} HOME=${join(folder, 'home')} LANG=de_DE.UTF-8 LC_ALL=C`
    const rig = rigOf(folder, await startOpenSsh({ folder, sshdConfig: [environment] }))
    ends.push(() => rig.stop())
    const shell = shellOf(await rig.machine.session())
    expect(shell).toMatchObject({
      stat: 'none',
      find: 'none',
      confiner: undefined,
      locale: { lang: 'de_DE.UTF-8', lcAll: 'C', charmap: '', utf8: false },
      programs: { bash: undefined, rg: undefined, find: undefined },
    })
    expect(await readBack(rig)).toBe('content')
  })

  it('has busybox tools told apart from those of GNU', async () => {
    const folder = mkdtempSync('/var/tmp/presence-busybox-')
    const rig = rigOf(folder, await startOpenSsh({ folder }))
    ends.push(() => rig.stop())
    for (const name of ['find', 'stat']) symlinkSync(findProgram('busybox') ?? '', join(folder, 'bin', name))
    const session = await rig.machine.session()
    expect(shellOf(session)).toMatchObject({ stat: 'busybox', find: 'busybox' })
    expect(session.capabilities.roots.kind).toBe('same')
    expect(await readBack(rig)).toBe('content')
  })
})

describe('the folders that SFTP and commands see', () => {
  it('are the same wherever each of them begins', async () => {
    const rig = await rigWith({ sshdConfig: [`Subsystem sftp internal-sftp -d /usr`] })
    const session = await rig.machine.session()
    expect(session.capabilities.roots).toEqual({ kind: 'same', start: '/usr' })
    expect(await outputOf(session.exec, 'pwd')).toBe(`${process.env['HOME'] ?? '/root'}\n`)
  })

  it('are different where SFTP shows another tree: commands are refused, and files stay files', async () => {
    const folder = mkdtempSync('/var/tmp/presence-roots-')
    const home = join(folder, 'home')
    const tree = join(folder, 'tree')
    const shared = ['/usr', '/lib', '/lib64', '/etc'].flatMap((path) => ['--ro-bind', path, path])
    const view = ['--bind', tree, '/', '--dev', '/dev', ...shared, '--chdir', home]
    mkdirSync(join(tree, home), { recursive: true })
    const sftp = `Subsystem sftp ${['bwrap', ...view].join(' ')} /usr/lib/openssh/sftp-server`
    const rig = rigOf(folder, await startOpenSsh({ folder, sshdConfig: [sftp] }))
    ends.push(() => rig.stop())
    const session = await rig.machine.session()
    expect(session.capabilities).toMatchObject({
      commands: { kind: 'shell' },
      sftp: { kind: 'sftp' },
      roots: { kind: 'different', start: home, home },
      warnings: [expect.stringContaining('shows other folders than its shell') as string],
    })
    // Spelled alike, and two files all the same: what reads must never see what a command wrote.
    writeFileSync(join(home, 'f'), 'what a command would see')
    const file = { path: parseRemotePath(join(home, 'f')), shown: 'f' }
    await rig.files.write(file, 'by SFTP', { kind: 'absent' }, 10)
    expect(statSync(join(tree, home, 'f')).size).toBe('by SFTP'.length)
    expect(session.shell).toBeUndefined()
    expect(() => session.requireShell()).toThrow(/commands are off.*the same path would mean two files/)
    // Nor is its version that of the other file.
    expect((await rig.files.stat(file))?.version).toMatch(/^s:/)
    rmSync(tree, { recursive: true, force: true })
  })

  it('are compared by mode, owner and time, whichever `stat` prints them', () => {
    const attributes = { mode: 0o40755, uid: 0, gid: 3, size: 10, mtime: 1_700_000_000 }
    expect(isSame(attributes, '41ed 0 3 1700000000', 'gnu')).toBe(true)
    expect(isSame(attributes, '40755 0 3 1700000000', 'bsd')).toBe(true)
    for (const other of ['41ed 0 3 1700000001', '41ed 1 3 1700000000', '41c0 0 3 1700000000', '']) {
      expect(isSame(attributes, other, 'gnu')).toBe(false)
    }
    expect(isSame(undefined, '41ed 0 3 1700000000', 'gnu')).toBe(false)
  })
})

describe('the name of a login shell', () => {
  it.each([
    ['/bin/sh', '/usr/bin/dash', 'posix', 'dash'],
    ['/bin/ash', '/bin/busybox', 'posix', 'busybox'],
    ['/bin/sh', '/bin/sh', 'posix', 'sh'],
    ['/bin/csh', '/bin/bsd-csh', 'foreign', 'tcsh'],
    ['/usr/local/bin/bash-5.2', '/usr/local/bin/bash-5.2', 'posix', 'bash'],
    ['/usr/bin/xonsh', '/usr/bin/xonsh', 'foreign', 'unknown'],
    ['', '', 'posix', 'unknown'],
    // A script has set SHELL to what is started later, by hand.
    ['/usr/bin/fish', '/usr/bin/fish', 'posix', 'unknown'],
    ['/bin/bash', '/bin/bash', 'foreign', 'unknown'],
  ] as const)('of %s, which is %s and quotes like a %s one, is %s', (path, program, quoting, kind) => {
    expect(shellKindOf(path, program, quoting)).toBe(kind)
  })
})
