/** Every login shell that Presence promises, quiet and with start files that print, behind a real sshd. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath, type RemotePath } from '../../src/base/remote-path.ts'
import { messageOf } from '../../src/base/failure.ts'
import { RemoteProcess } from '../../src/remote/process/remote-process.ts'
import type { Machine } from '../../src/remote/machine.ts'
import {
  LOGIN_SHELLS,
  START_FILES,
  makeNoisy,
  makeQuiet,
  startLoginShells,
  type LoginShells,
  type Visit,
} from '../support/login-shells.ts'

let rig: LoginShells<(typeof LOGIN_SHELLS)[number]>
beforeAll(async () => {
  rig = await startLoginShells(LOGIN_SHELLS)
})
afterAll(() => rig.stop())

const HARD_WORDS = [
  `it's a "quoted" word`,
  '$HOME `id` $(id) ${x}',
  String.raw`back\slash \\ \n \0 \'`,
  'bang! history!! !$ !x',
  'two\nlines\n\n',
  ' leading and trailing ',
  '*?[a]{b,c}~ # ; & | < >',
  'tab\tand \u0001 control',
  'ünïcödé 你好 🙂',
  '%s %d %%',
  '-n',
  '',
]

interface Ended {
  readonly exitCode: number | null
  readonly output: string
  readonly errors: string
}

async function run(machine: Machine, folder: string, argv: readonly string[]): Promise<Ended> {
  const process = new RemoteProcess(
    machine,
    { argv, folder: parseRemotePath(folder), env: {}, input: 'none', graceMs: 500 },
    (_session, request) => request,
  )
  const text = { output: '', errors: '' }
  process.stdout.on('data', (chunk: Buffer) => (text.output += chunk.toString()))
  process.stderr.on('data', (chunk: Buffer) => (text.errors += chunk.toString()))
  const { exitCode } = await process.done
  return { exitCode, ...text }
}

describe.each(LOGIN_SHELLS)('the login shell %s', (shell) => {
  /** A connection before the start files print, and one after. */
  const visits: Partial<Record<'quiet' | 'noisy', Visit>> = {}
  const visit = (when: 'quiet' | 'noisy'): Visit => {
    const account = rig.accounts[shell]
    if (when === 'noisy') makeNoisy(account, shell)
    else makeQuiet(account, shell)
    return (visits[when] ??= rig.visit(shell))
  }
  const at = (name: string): { path: RemotePath; shown: string } => ({
    path: parseRemotePath(join(rig.accounts[shell].home, name)),
    shown: name,
  })

  it.each(['quiet', 'noisy'] as const)(
    'F56: is recognised when %s, with all that it was asked',
    async (when) => {
      const { capabilities } = await visit(when).machine.session()
      expect(capabilities.loginShell).toBe(shell)
      const { name, home, uid, shell: path } = rig.accounts[shell]
      expect(capabilities.commands).toMatchObject({
        kind: 'shell',
        shell: {
          loginShell: shell === 'fish' || shell === 'tcsh' ? 'foreign' : 'posix',
          kind: shell,
          path,
          home,
          uid,
          user: name,
          os: 'Linux',
          stat: 'gnu',
          find: 'gnu',
          tmp: '/tmp',
          locale: { lang: 'C.UTF-8', lcAll: '', charmap: 'UTF-8', utf8: true },
          programs: { rg: expect.stringMatching(/\/rg$/) as string },
        },
      })
      expect(capabilities.roots).toEqual({ kind: 'same', start: home })
      // What prints before a command prints before the SFTP program too.
      const around = when === 'noisy' && START_FILES[shell] !== null
      expect(capabilities.sftp).toMatchObject({
        kind: 'sftp',
        way: around
          ? {
              kind: 'program',
              program: '/usr/lib/openssh/sftp-server',
              reason: expect.stringContaining('("Welcome') as string,
            }
          : { kind: 'service' },
        extensions: { 'posix-rename@openssh.com': '1' },
      })
      expect(capabilities.warnings).toHaveLength(around ? 1 : 0)
    },
  )

  it.each(['quiet', 'noisy'] as const)('F62: passes a command on byte for byte when %s', async (when) => {
    const { machine } = visit(when)
    const argv = ['sh', '-c', `printf '%s\\037' "$@"; echo aside >&2; exit 3`, 'sh', ...HARD_WORDS]
    const ended = await run(machine, rig.accounts[shell].home, argv)
    expect(ended.output.split('\u001f').slice(0, -1)).toEqual(HARD_WORDS)
    expect([ended.exitCode, ended.errors]).toEqual([3, 'aside\n'])
  })

  it('F58: says which program is missing by its own words, not by the exit code of the shell', async () => {
    const failure = await run(visit('noisy').machine, rig.accounts[shell].home, ['no-such-program']).then(
      ({ exitCode }) => `ended with ${String(exitCode)}`,
      messageOf,
    )
    expect(failure).toMatch(/no-such-program/)
    expect(failure).not.toMatch(/ended with/)
  })

  it.each(['quiet', 'noisy'] as const)(
    'F55: has files that can be read, written and seen when %s',
    async (when) => {
      const { files } = visit(when)
      const file = at(`a file ${when}`)
      const content = `ünïcödé\n${'x'.repeat(300_000)}\n`
      const { version } = await files.write(file, content, { kind: 'absent' }, 10)
      expect(await files.readText(file)).toBe(content)
      // Only the machine's own `stat` tells so much.
      expect(version).toMatch(/^x:/)
      expect((await files.stat(file))?.version).toBe(version)
      writeFileSync(join(rig.accounts[shell].home, 'beside'), '')
      const names = (await files.list({ ...file, path: parseRemotePath(rig.accounts[shell].home) })).map(
        (entry) => entry.name,
      )
      expect(names).toEqual(expect.arrayContaining([`a file ${when}`, 'beside']))
    },
  )
})
