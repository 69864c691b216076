/** Both kinds of rig machine are the same machine to whoever logs in. */
import { existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmbedded } from '../../scripts/machine/embedded.ts'
import { plainWitness } from '../../scripts/machine/independent.ts'
import { MARK, type DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { sshIdentification } from '../../scripts/project/port.ts'
import { processesWith } from '../../scripts/machine/processes.ts'
import { run } from '../../scripts/project/children.ts'
import { freshFolder } from './folders.ts'

const KINDS = { openssh: startOpenSsh, embedded: startEmbedded }

describe.each(Object.entries(KINDS))('a rig machine behind %s', (kind, start) => {
  let folder: string
  let machine: DemoMachine

  beforeAll(async () => {
    folder = await freshFolder()
    machine = await start({ folder, alias: 'rig' })
  })
  afterAll(() => machine.stop())

  it('runs commands in an account whose home and programs are its own', async () => {
    const answer = await machine.run('echo "$HOME"; echo "$PATH"; command -v rg; exit 7')
    const [home, path, rg] = answer.stdout.split('\n')
    expect(machine.kind).toBe(kind)
    expect(home).toBe(join(folder, 'home'))
    expect(path?.startsWith(`${join(folder, 'bin')}:`)).toBe(true)
    expect(rg).toMatch(/\/rg$/)
    expect(answer.code).toBe(7)
  })

  it('keeps the two outputs apart and gives the command its input and its end', async () => {
    const argv = ['ssh', '-F', machine.sshConfigFile, machine.alias, 'cat; echo done; echo aside >&2']
    const answer = await run(argv, { input: 'from the client\n' })
    expect(answer).toMatchObject({ code: 0, stdout: 'from the client\ndone\n', stderr: 'aside\n' })
  })

  it('carries output larger than any window, on both streams at once, byte for byte', async () => {
    const command =
      'for i in 1 2 3 4; do head -c 1500000 /dev/zero; head -c 1500000 /dev/zero >&2; done; echo .'
    const answer = await run(['ssh', '-F', machine.sshConfigFile, machine.alias, command])
    expect([answer.code, answer.stdout.length, answer.stderr.length]).toEqual([0, 6_000_002, 6_000_000])
  })

  it('starts SFTP in the home folder', async () => {
    const answer = await run(['sftp', '-F', machine.sshConfigFile, '-b', '-', machine.alias], {
      input: 'pwd\n',
    })
    expect(answer.stdout).toContain(`Remote working directory: ${machine.home}\n`)
  })

  it('lets nobody in with another key', async () => {
    const stranger = join(folder, 'stranger')
    await run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', stranger])
    const refused = await plainWitness({ ...machine, identityFile: stranger })
      .run('true')
      .catch((failure: unknown) => failure)
    expect(String(refused)).toMatch(/authentication methods failed/)
  })

  it('gives the same answers to a plain client as to the ssh program', async () => {
    const command = 'echo out; echo err >&2; exit 5'
    expect(await plainWitness(machine).run(command)).toEqual(await machine.run(command))
  })

  it('comes back after a restart at the same port with the same host key', async () => {
    const port = machine.port
    const before = await readFile(machine.knownHostsFile, 'utf8')
    await machine.restart()
    expect(machine.port).toBe(port)
    expect(await readFile(machine.knownHostsFile, 'utf8')).toBe(before)
    expect((await machine.run('echo back')).stdout).toBe('back\n')
  })

  it('leaves the ~/.ssh of the one who starts it alone', async () => {
    const before = await contentsOf(join(homedir(), '.ssh'))
    const other = await start({ folder: await freshFolder() })
    await other.run('true')
    await other.stop()
    expect(await contentsOf(join(homedir(), '.ssh'))).toEqual(before)
  })

  it('writes its private keys for its owner only', async () => {
    expect((await stat(machine.identityFile)).mode & 0o077).toBe(0)
    expect((await stat(join(folder, 'host_ed25519'))).mode & 0o077).toBe(0)
  })

  it('leaves nothing running when it stops, not even what detached itself', async () => {
    const other = await start({ folder: await freshFolder() })
    await other.run('setsid sleep 600 </dev/null >/dev/null 2>&1 & echo started')
    const mark = join(other.home, '..')
    expect(await processesWith(MARK, mark)).toHaveLength(1)
    const held = run(['ssh', '-F', other.sshConfigFile, other.alias, 'sleep 600'])
    await expect
      .poll(() => processesWith(MARK, mark), { timeout: 20_000 })
      .toSatisfy((pids: number[]) => pids.length >= 2)
    await other.stop()
    expect(await processesWith(MARK, mark)).toEqual([])
    expect(await sshIdentification(other.port)).toBeUndefined()
    expect((await held).code).not.toBe(0)
    await other.stop()
  })

  it('keeps its identity in its folder from one start to the next', async () => {
    const place = await freshFolder()
    const first = await start({ folder: place })
    const key = await readFile(join(place, 'host_ed25519.pub'), 'utf8')
    await first.stop()
    const second = await start({ folder: place })
    expect(await readFile(join(place, 'host_ed25519.pub'), 'utf8')).toBe(key)
    expect(await readFile(second.knownHostsFile, 'utf8')).toContain(key.split(' ')[1])
    await second.stop()
  })
})

/** Names, sizes and times of a folder's entries; a folder that is not there has none. */
async function contentsOf(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const names = await readdir(folder)
  const described = names.map(async (name) => {
    const { size, mtimeMs } = await stat(join(folder, name))
    return `${name} ${size} ${mtimeMs}`
  })
  return (await Promise.all(described)).sort()
}

describe('a rig machine behind openssh', () => {
  it('takes further lines of configuration, which win over its own', async () => {
    const machine = await startOpenSsh({
      folder: await freshFolder(),
      sshdConfig: ['ForceCommand echo forced', 'Subsystem other /bin/true'],
    })
    expect((await machine.run('echo mine')).stdout).toBe('forced\n')
    const sftp = await run(['sftp', '-F', machine.sshConfigFile, '-b', '-', machine.alias], {
      input: 'pwd\n',
    })
    expect(sftp.code).not.toBe(0)
    await machine.stop()
  })

  it('logs in another account when it is started as root', async () => {
    if (process.getuid?.() !== 0) {
      await expect(startOpenSsh({ folder: await freshFolder(), user: 'nobody' })).rejects.toThrow()
      return
    }
    const machine = await startOpenSsh({ folder: await freshFolder(), user: 'tester' })
    expect((await machine.run('id -un; echo mine > "$HOME/file" && cat "$HOME/file"')).stdout).toBe(
      'tester\nmine\n',
    )
    await machine.stop()
  })

  it('says what sshd says when it cannot start', async () => {
    const broken = startOpenSsh({ folder: await freshFolder(), sshdConfig: ['Nonsense yes'] })
    await expect(broken).rejects.toThrow(/Bad configuration option: Nonsense/)
  })
})
