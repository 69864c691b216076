/** The written rules of saving (docs/decisions/saving.md), as far as the local provider cannot tell them. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { RemoteFiles } from '../../../src/remote/files/remote-files.ts'
import { Machine } from '../../../src/remote/machine.ts'
import type { ConnectionPool } from '../../../src/ssh/connection/pool.ts'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../../scripts/machine/openssh.ts'
import { run } from '../../../scripts/project/children.ts'
import { makeAccounts, type Account, type Accounts } from '../../support/accounts.ts'
import { startFakeServer, type FakeServer, type SftpRequest } from '../../support/fake-server.ts'
import { poolFor, rigOf, settingsFor, startRig, type Rig } from '../../support/rig.ts'
import { file } from '../../ssh/life/line.ts'

const LIMIT = 1 << 20
const save = (files: RemoteFiles, path: string, content = 'new'): Promise<unknown> =>
  files.write(file(path), content, { kind: 'none' }, LIMIT)

describe('as root', () => {
  let rig: Rig
  let folder = ''
  beforeAll(async () => {
    rig = await startRig()
    folder = rig.folder
  })
  afterAll(() => rig.stop())

  it('F80: another’s file stays theirs, with its mode, and without set-ID bits', async () => {
    const path = join(folder, 'theirs')
    writeFileSync(path, 'old')
    chownSync(path, 1234, 4321)
    chmodSync(path, 0o4664)
    await save(rig.files, path)
    const { uid, gid, mode } = statSync(path)
    expect([uid, gid, (mode & 0o7777).toString(8), readFileSync(path, 'utf8')]).toEqual([
      1234,
      4321,
      '664',
      'new',
    ])
  })

  it.each([0o755, 0o600, 0o640, 0o4755, 0o2755, 0o444, 0o666])(
    'F79: permissions of a file are kept, without set-ID bits: %o',
    async (mode) => {
      const path = join(folder, `mode-${mode}`)
      writeFileSync(path, 'old')
      chmodSync(path, mode)
      await save(rig.files, path)
      const edit = { oldString: 'new', newString: 'edited', matches: 1 }
      const { version } = await rig.files.edit(file(path), edit, undefined)
      expect((statSync(path).mode & 0o7777).toString(8)).toBe((mode & 0o777).toString(8))
      await rig.files.edit(file(path), { ...edit, oldString: 'edited' }, version)
      expect(readFileSync(path, 'utf8')).toBe('edited')
    },
  )

  it('F83: a file behind a link to another file system is saved there, and the link stays', async () => {
    const disk = join(folder, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', disk])
    try {
      writeFileSync(join(disk, 'f'), 'old')
      symlinkSync(join(disk, 'f'), join(folder, 'across'))
      const path = await rig.files.canonical(parseRemotePath(join(folder, 'across')))
      await save(rig.files, path)
      expect(readFileSync(join(folder, 'across'), 'utf8')).toBe('new')
      expect(readdirSync(disk)).toEqual(['f'])
    } finally {
      execFileSync('umount', [disk])
    }
  })

  it('C49: a name as long as a name may be is saved', async () => {
    const path = join(folder, 'é'.repeat(127))
    await save(rig.files, path, 'first')
    await save(rig.files, path, 'second')
    expect(readFileSync(path, 'utf8')).toBe('second')
  })
})

describe('as an account without privileges', () => {
  let accounts: Accounts<'plain'>
  let account: Account
  let server: DemoMachine
  let pool: ConnectionPool
  let files: RemoteFiles
  beforeAll(async () => {
    accounts = await makeAccounts({ plain: '/bin/bash' })
    account = accounts.of.plain
    // Read by sshd when they log in.
    const joined = await run(['usermod', '-aG', 'daemon', account.name])
    if (joined.code !== 0) throw new Error(joined.stderr)
    server = await startOpenSsh({ folder: join(accounts.folder, 'machine'), user: account.name })
    pool = poolFor(() => settingsFor(server))
    files = new RemoteFiles(new Machine(pool.connection(server.alias)))
  })
  afterAll(async () => {
    pool.close()
    await server.stop()
    await accounts.remove()
  })

  it('F80: a file of root and of a group of ours keeps the group, which may still write', async () => {
    const daemon = Number((await run(['getent', 'group', 'daemon'])).stdout.split(':')[2])
    const path = join(account.home, 'shared')
    writeFileSync(path, 'old')
    chownSync(path, 0, daemon)
    chmodSync(path, 0o664)
    await save(files, path)
    const { uid, gid, mode } = statSync(path)
    expect([uid, gid, (mode & 0o777).toString(8)]).toEqual([account.uid, daemon, '664'])
    expect(readFileSync(path, 'utf8')).toBe('new')
  })

  it('F86: a folder that may not be changed refuses, and nothing of its file is touched', async () => {
    const folder = join(account.home, 'fixed')
    mkdirSync(folder)
    writeFileSync(join(folder, 'f'), 'old')
    chmodSync(join(folder, 'f'), 0o666)
    await expect(save(files, join(folder, 'f'))).rejects.toMatchObject({ code: 'permission-denied' })
    expect(readFileSync(join(folder, 'f'), 'utf8')).toBe('old')
    expect(readdirSync(folder)).toEqual(['f'])
  })

  it('F82: a read-only file is replaced and stays read-only, as by the local provider', async () => {
    const path = join(account.home, 'read-only')
    account.write('read-only', 'old', 0o444)
    await save(files, path)
    expect([readFileSync(path, 'utf8'), (statSync(path).mode & 0o777).toString(8)]).toEqual(['new', '444'])
  })

  it('C51: a folder that may be read but not searched is refused, and not shown as empty', async () => {
    account.write('dark/f', 'x')
    chmodSync(join(account.home, 'dark'), 0o400)
    await expect(files.list(file(join(account.home, 'dark')))).rejects.toMatchObject({
      code: 'permission-denied',
    })
  })
})

describe('on servers that differ', () => {
  let fake: FakeServer
  let rig: Rig
  const asked: SftpRequest['name'][] = []
  beforeEach(async () => {
    fake = await startFakeServer()
    rig = rigOf(fake.home, fake)
    asked.length = 0
  })
  afterEach(async () => {
    rig.pool.close()
    await fake.stop()
  })
  const note = (): void => {
    asked.length = 0
    fake.judge = ({ name }) => {
      asked.push(name)
      return 'answer'
    }
  }

  it('C43: is forced to the disk before it is put in place, where that is offered', async () => {
    const path = join(fake.home, 'f')
    writeFileSync(path, 'old')
    await rig.files.stat(file(path))
    note()
    // Nothing is compared, so the old content is not read beside it.
    await rig.files.write(file(path), 'new', { kind: 'none' }, 0)
    const saving = asked.slice(asked.indexOf('open'))
    expect(saving.filter((name) => /open|write|extended|close/.test(name))).toEqual([
      'open',
      'write',
      'extended',
      'close',
      'extended',
    ])
  })

  it('goes on where it cannot be forced to the disk, replaced in one step or linked', async () => {
    fake.offers = () => false
    const path = join(fake.home, 'f')
    await save(rig.files, path, 'first')
    await save(rig.files, path, 'second')
    await rig.files.write(file(join(fake.home, 'g')), 'third', { kind: 'absent' }, LIMIT)
    await expect(
      rig.files.write(file(join(fake.home, 'g')), 'fourth', { kind: 'absent' }, LIMIT),
    ).rejects.toMatchObject({ code: 'exists' })
    expect([path, join(fake.home, 'g')].map((name) => readFileSync(name, 'utf8'))).toEqual([
      'second',
      'third',
    ])
    expect(readdirSync(fake.home).filter((name) => name.includes('presence'))).toEqual([])
  })

  it('F79: never more open than asked, even on a server that makes files for everybody', async () => {
    fake.alter = (request) => openToAll(request)
    await save(rig.files, join(fake.home, 'f'))
    expect((statSync(join(fake.home, 'f')).mode & 0o777).toString(8)).toBe('600')
  })

  it('takes back what was moved aside before anything else is seen there', async () => {
    fake.offers = () => false
    const path = join(fake.home, 'f')
    writeFileSync(path, 'old')
    await rig.files.stat(file(path))
    // `breaking` holds for connections that are made after it is set.
    // The third rename is the one that puts the new file in, after one that does not replace and one aside.
    let renames = 0
    rig.pool.close()
    const cut = { at: 'sftp-request', by: 'reset', request: 0 } as {
      at: 'sftp-request'
      by: 'reset'
      request: number
    }
    fake.breaking = cut
    fake.judge = ({ name, index }) => {
      if (name === 'rename' && (renames += 1) === 2) cut.request = index + 1
      return 'answer'
    }
    rig = rigOf(fake.home, fake)
    await expect(save(rig.files, path)).rejects.toMatchObject({ outcomeUnknown: true })
    expect(existsSync(path)).toBe(false)
    fake.breaking = undefined
    expect(await rig.files.readText(file(path))).toBe('old')
    expect(readdirSync(fake.home).filter((name) => name.includes('presence'))).toEqual([])
  })
})

/** An open request that asks for a file that everybody may read and write. */
function openToAll(request: Buffer): Buffer {
  const [open, mode] = [3, 0o666]
  if (request[0] !== open) return request
  const altered = Buffer.from(request)
  const attributes = 13 + altered.readUInt32BE(5)
  if ((altered.readUInt32BE(attributes) & 4) !== 0) altered.writeUInt32BE(mode, attributes + 4)
  return altered
}
