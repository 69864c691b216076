/**
 * The embedded machine's SFTP is judged by OpenSSH: the same requests go to both servers, and every
 * status, attribute and byte must be the same.
 */
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import ssh2, { type SFTPWrapper } from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmbedded } from '../../scripts/machine/embedded.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { run } from '../../scripts/project/children.ts'
import { freshFolder } from './folders.ts'

/** What one request came to: a status of the protocol, or its answer made comparable. */
type Seen = unknown

async function logIn(machine: DemoMachine): Promise<ssh2.Client> {
  const client = new ssh2.Client()
  // Without this each request waits for the delayed acknowledgement of the one before.
  const sock = connect({ host: machine.host, port: machine.port, noDelay: true })
  await new Promise<void>((resolve, reject) => {
    client.once('ready', resolve).on('error', reject)
    client.connect({ sock, username: machine.user, privateKey: readFileSync(machine.identityFile) })
  })
  return client
}

class Probe {
  readonly #client: ssh2.Client
  readonly #sftp: SFTPWrapper
  readonly folder: string

  constructor(client: ssh2.Client, sftp: SFTPWrapper, folder: string) {
    this.#client = client
    this.#sftp = sftp
    this.folder = folder
  }

  static async open(machine: DemoMachine): Promise<Probe> {
    const client = await logIn(machine)
    const sftp = await new Promise<SFTPWrapper>((resolve, reject) =>
      client.sftp((failure, opened) => (failure === undefined ? resolve(opened) : reject(failure))),
    )
    return new Probe(client, sftp, await mkdtemp(join(machine.home, 'probe-')))
  }

  path(name: string): string {
    return `${this.folder}/${name}`
  }

  /** One request by ssh2's name for it; this machine's own folder is written `<folder>` in the answer. */
  ask(method: string, ...args: unknown[]): Promise<Seen> {
    const request = (this.#sftp as unknown as Record<string, (...all: unknown[]) => void>)[method]
    if (request === undefined) throw new Error(`ssh2 has no SFTP request ${method}`)
    return new Promise((resolve) => {
      request.call(
        this.#sftp,
        ...args,
        (failure: { code?: number; message: string } | undefined, ...answer: unknown[]) =>
          resolve(
            failure instanceof Error
              ? `${String((failure as { code?: number }).code)} ${failure.message}`
              : this.#comparable(answer[0]),
          ),
      )
    })
  }

  async opened(name: string, flags: string): Promise<Buffer> {
    return new Promise((resolve, reject) =>
      this.#sftp.open(this.path(name), flags as 'r', (failure, handle) =>
        failure === undefined ? resolve(handle) : reject(failure),
      ),
    )
  }

  end(): void {
    this.#client.end()
  }

  #comparable(answer: unknown): Seen {
    if (typeof answer === 'string') return answer.replace(this.folder, '<folder>')
    if (Buffer.isBuffer(answer)) return 'a handle'
    if (Array.isArray(answer)) {
      return (answer as { filename: string; attrs: { mode: number } }[])
        .map(({ filename, attrs }) => `${filename} ${attrs.mode.toString(8)}`)
        .sort()
    }
    if (typeof answer !== 'object' || answer === null) return answer
    const { mode, size, uid, gid, mtime } = answer as Record<string, number>
    return {
      mode,
      size: (mode ?? 0) & 0o040000 ? 'folder' : size,
      uid,
      gid,
      fresh: Math.abs(Date.now() / 1000 - (mtime ?? 0)) < 3600,
    }
  }
}

/** Files that both probes find, and the requests made to both, in order. */
async function prepare(on: Probe): Promise<void> {
  await writeFile(on.path('file'), 'content\n', { mode: 0o640 })
  await writeFile(on.path('other'), 'other\n')
  await mkdir(on.path('folder'))
  await writeFile(on.path('folder/inside'), '')
  await symlink('file', on.path('link'))
  await symlink('nowhere', on.path('dangling'))
  await symlink('loop', on.path('loop'))
  await run(['mkfifo', on.path('fifo')])
}

const LONG = 'n'.repeat(300)

const REQUESTS: Readonly<Record<string, (probe: Probe) => Promise<Seen>>> = {
  'stat of a file': (on) => on.ask('stat', on.path('file')),
  'stat of a folder': (on) => on.ask('stat', on.path('folder')),
  'stat of nothing': (on) => on.ask('stat', on.path('missing')),
  'stat below a file': (on) => on.ask('stat', on.path('file/below')),
  'stat through a link': (on) => on.ask('stat', on.path('link')),
  'stat of a dangling link': (on) => on.ask('stat', on.path('dangling')),
  'stat of a loop': (on) => on.ask('stat', on.path('loop')),
  'stat of a fifo': (on) => on.ask('stat', on.path('fifo')),
  'stat of a name that is too long': (on) => on.ask('stat', on.path(LONG)),
  'stat of an empty path': (on) => on.ask('stat', ''),
  'lstat of a link': (on) => on.ask('lstat', on.path('link')),
  'lstat of a dangling link': (on) => on.ask('lstat', on.path('dangling')),
  'realpath of a link': (on) => on.ask('realpath', on.path('link')),
  'realpath of a missing name': (on) => on.ask('realpath', on.path('folder/../folder/missing')),
  'realpath of a dangling link': (on) => on.ask('realpath', on.path('dangling')),
  'realpath below a missing folder': (on) => on.ask('realpath', on.path('missing/below')),
  'realpath of a loop': (on) => on.ask('realpath', on.path('loop')),
  'realpath below a file': (on) => on.ask('realpath', on.path('file/below')),
  'realpath of the root': (on) => on.ask('realpath', '/'),
  'readlink of a link': (on) => on.ask('readlink', on.path('link')),
  'readlink of a file': (on) => on.ask('readlink', on.path('file')),
  'reading a file': (on) => on.ask('readFile', on.path('file'), 'utf8'),
  'reading a file of /proc, whose size is 0': (on) => on.ask('readFile', '/proc/sys/kernel/ostype', 'utf8'),
  'reading a folder': (on) => on.ask('readFile', on.path('folder'), 'utf8'),
  'listing a folder': (on) => on.ask('readdir', on.path('.')),
  'listing a file': (on) => on.ask('readdir', on.path('file')),
  'listing nothing': (on) => on.ask('readdir', on.path('missing')),
  'opening nothing': (on) => on.ask('open', on.path('missing'), 'r'),
  'creating what exists, exclusively': (on) => on.ask('open', on.path('file'), 'wx'),
  'creating exclusively over a dangling link': (on) => on.ask('open', on.path('dangling'), 'wx'),
  'creating in a missing folder': (on) => on.ask('open', on.path('missing/new'), 'w'),
  'opening a folder to write': (on) => on.ask('open', on.path('folder'), 'w'),
  'creating with a mode': async (on) => [
    await on.ask('open', on.path('script'), 'w', { mode: 0o755 }),
    await on.ask('stat', on.path('script')),
  ],
  'writing a whole file': async (on) => [
    await on.ask('writeFile', on.path('written'), 'x'.repeat(300_000)),
    await on.ask('stat', on.path('written')),
  ],
  'writing into an existing file keeps its mode': async (on) => [
    await on.ask('writeFile', on.path('file'), 'new\n'),
    await on.ask('stat', on.path('file')),
    await on.ask('readFile', on.path('file'), 'utf8'),
  ],
  'appending goes to the end whatever the offset': async (on) => {
    const handle = await on.opened('other', 'a')
    await on.ask('write', handle, Buffer.from('more\n'), 0, 5, 0)
    await on.ask('close', handle)
    return on.ask('readFile', on.path('other'), 'utf8')
  },
  'reading at the end': async (on) => {
    const handle = await on.opened('file', 'r')
    return [
      await on.ask('read', handle, Buffer.alloc(10), 0, 10, 1000),
      await on.ask('fstat', handle),
      await on.ask('ext_openssh_fsync', handle),
      await on.ask('close', handle),
      await on.ask('close', handle),
      await on.ask('fstat', handle),
      await on.ask('read', handle, Buffer.alloc(10), 0, 10, 0),
    ]
  },
  'writing to a handle that was opened to read': async (on) => {
    const handle = await on.opened('file', 'r')
    return on.ask('write', handle, Buffer.from('x'), 0, 1, 0)
  },
  'setting size, mode and times': async (on) => [
    await on.ask('setstat', on.path('written'), {
      size: 5,
      mode: 0o600,
      atime: 1_000_000_000,
      mtime: 1_000_000_001,
    }),
    await on.ask('stat', on.path('written')),
    await on.ask('setstat', on.path('missing'), { mode: 0o600 }),
  ],
  'setting the mode through a handle': async (on) => {
    const handle = await on.opened('written', 'r+')
    return [await on.ask('fsetstat', handle, { mode: 0o4711, size: 2 }), await on.ask('fstat', handle)]
  },
  'making a folder': (on) => on.ask('mkdir', on.path('made')),
  'making a folder that exists': (on) => on.ask('mkdir', on.path('made')),
  'making a folder in nothing': (on) => on.ask('mkdir', on.path('missing/made')),
  'removing an empty folder': (on) => on.ask('rmdir', on.path('made')),
  'removing a full folder': (on) => on.ask('rmdir', on.path('folder')),
  'removing a folder that is a file': (on) => on.ask('rmdir', on.path('file')),
  'removing a file that is a folder': (on) => on.ask('unlink', on.path('folder')),
  'removing nothing': (on) => on.ask('unlink', on.path('missing')),
  'removing what nobody may remove': (on) => on.ask('unlink', '/proc/version'),
  'renaming a file to a free name': (on) => on.ask('rename', on.path('other'), on.path('moved')),
  'renaming a file onto another': (on) => on.ask('rename', on.path('moved'), on.path('file')),
  'renaming a folder onto a file': (on) => on.ask('rename', on.path('folder'), on.path('file')),
  'renaming a link onto a dangling link': (on) => on.ask('rename', on.path('link'), on.path('dangling')),
  'renaming nothing': (on) => on.ask('rename', on.path('missing'), on.path('elsewhere')),
  'replacing by posix-rename': async (on) => [
    await on.ask('ext_openssh_rename', on.path('moved'), on.path('file')),
    await on.ask('readFile', on.path('file'), 'utf8'),
    await on.ask('stat', on.path('moved')),
  ],
  'linking hard': async (on) => [
    await on.ask('ext_openssh_hardlink', on.path('file'), on.path('second')),
    await on.ask('readFile', on.path('second'), 'utf8'),
    await on.ask('ext_openssh_hardlink', on.path('file'), on.path('second')),
  ],
  'making a link onto something': (on) => on.ask('symlink', 'file', on.path('second')),
  'names of every kind': async (on) => {
    const names = ['a b', "it's", '-dash', 'back\\slash', 'new\nline', '%20', 'ümlaut', '日本語', 'star*']
    for (const name of names) await on.ask('writeFile', on.path(`folder/${name}`), name)
    return on.ask('readdir', on.path('folder'))
  },
  'a listing of more entries than one answer holds': async (on) => {
    await on.ask('mkdir', on.path('many'))
    for (let n = 0; n < 250; n += 1) await on.ask('open', on.path(`many/${n}`), 'w')
    return on.ask('readdir', on.path('many'))
  },
}

describe('SFTP of the embedded machine', () => {
  let machines: DemoMachine[]
  let embedded: Probe
  let openssh: Probe

  beforeAll(async () => {
    machines = [
      await startEmbedded({ folder: await freshFolder() }),
      await startOpenSsh({ folder: await freshFolder() }),
    ]
    const [first, second] = await Promise.all(machines.map(Probe.open))
    if (first === undefined || second === undefined) throw new Error('two machines are needed')
    ;[embedded, openssh] = [first, second]
    for (const probe of [embedded, openssh]) await prepare(probe)
  })

  afterAll(async () => {
    embedded.end()
    openssh.end()
    for (const machine of machines) await machine.stop()
  })

  it.each(Object.entries(REQUESTS))('answers as OpenSSH does: %s', async (_title, request) => {
    const expected = await request(openssh)
    expect(await request(embedded)).toEqual(expected)
  })

  it('makes symbolic links in the order each client means', async () => {
    const [machine] = machines
    if (machine === undefined) throw new Error('no machine')
    expect(await embedded.ask('symlink', 'target of ssh2', embedded.path('by ssh2'))).toBeUndefined()
    expect(await embedded.ask('readlink', embedded.path('by ssh2'))).toBe('target of ssh2')
    const input = `ln -s "target of sftp" "${embedded.path('by sftp')}"\n`
    const sftp = await run(['sftp', '-F', machine.sshConfigFile, '-b', '-', machine.alias], { input })
    expect(sftp.code).toBe(0)
    expect(await embedded.ask('readlink', embedded.path('by sftp'))).toBe('target of sftp')
  })

  it('tells the free space as OpenSSH does', async () => {
    const space = async (probe: Probe): Promise<string> =>
      JSON.stringify(await probe.ask('ext_openssh_statvfs', probe.folder))
    expect(await space(embedded)).toBe(await space(openssh))
  })

  it('serves the sftp program a round trip of names that are not UTF-8', async () => {
    const [machine] = machines
    if (machine === undefined) throw new Error('no machine')
    const folder = await freshFolder()
    await run(['sh', '-c', `printf bytes > "$(printf 'caf\\351')"`], { cwd: folder })
    const batch = `put -r . back\nget -r back returned\n`
    const argv = ['sftp', '-F', machine.sshConfigFile, '-b', '-', machine.alias]
    const sftp = await run(argv, { input: batch, cwd: folder })
    expect(sftp.stderr).toBe('')
    const compared = await run(['sh', '-c', `cat returned/"$(printf 'caf\\351')"`], { cwd: folder })
    expect(compared.stdout).toBe('bytes')
  })

  it('answers what it does not know as unsupported', async () => {
    expect(
      await embedded.ask('ext_openssh_lsetstat', embedded.path('file'), { mode: 0o600 }).catch(String),
    ).toMatch(/does not support/)
  })

  it('refuses the eleventh channel of a connection, and serves the next when one is free again', async () => {
    const [machine] = machines
    if (machine === undefined) throw new Error('no machine')
    const client = await logIn(machine)
    const open = (): Promise<ssh2.ClientChannel | string> =>
      new Promise((resolve) => client.exec('cat', (refused, channel) => resolve(refused?.message ?? channel)))
    const channels = await Promise.all(Array.from({ length: 11 }, open))
    const refused = channels.filter((channel) => typeof channel === 'string')
    expect(refused).toEqual([expect.stringMatching(/Channel open failure/)])
    const [first] = channels
    if (first === undefined || typeof first === 'string') throw new Error('the first channel was refused')
    const closed = new Promise((resolve) => first.on('close', resolve).resume())
    first.end()
    await closed
    expect(typeof (await open())).toBe('object')
    client.end()
  })
})
