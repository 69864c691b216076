/** Which means a machine is found to have, and what is said when it has none or when confining fails. */
import { execFileSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import type { Confiner } from '../../../src/remote/capabilities.ts'
import { confinementOf, NOT_CONFINED, waysOut, wrappedArgv } from '../../../src/remote/confine.ts'
import { LONGEST_LINE_EVER, startScript } from '../../../src/remote/shell/command-line.ts'
import { LAUNCH } from '../../../src/remote/shell/scripts.ts'
import { findProgram } from '../../../scripts/project/programs.ts'
import { startConfined, type Confined } from '../../support/confined.ts'
import { replacing } from '../../../scripts/machine/hiding.ts'

const ends: Confined[] = []
afterEach(async () => {
  for (const { stop } of ends.splice(0)) await stop()
})

describe('a machine', () => {
  it('C67: whose programs of confinement all fail has none, whatever they are called, unless a person says so', async () => {
    const at = await startConfined('none', 'account')
    ends.push(at)
    const { shell } = at.session
    expect(shell?.confiner).toBeUndefined()
    expect(confinementOf(shell, false)).toBe('none')
    expect(confinementOf(shell, true)).toBe('unconfined-by-switch')
    expect(waysOut('box')).toMatch(/^box has no usable confinement.*not run.*Three ways out/)
  })

  it('without bubblewrap has namespaces, in which a command has its own name and ends by a signal as elsewhere', async () => {
    const at = await startConfined('namespaces', 'account')
    ends.push(at)
    expect(at.session.shell?.confiner).toMatchObject({ means: 'namespaces', shownAs: 'own' })
    expect((await at.run('read-only', 'id -un; id -u')).out).toBe(
      `${at.account.name}\n${String(at.account.uid)}\n`,
    )
    const gone = at.start('read-only', ['sh', '-c', 'kill -TERM $$'])
    expect(await gone.done).toEqual({ exitCode: 143, signal: null })
  })
})

it('the start of a confined terminal fits into a command line, whatever the login shell is', () => {
  const confiner = { means: 'namespaces', program: '/usr/bin/unshare', shownAs: 'own' } as const
  const argv = wrappedArgv(['x'.repeat(500)], { mode: 'read-only', root: undefined }, confiner, 1000)
  for (const shell of ['posix', 'foreign'] as const)
    expect(startScript(LAUNCH, ['MARK', ...argv], shell, LONGEST_LINE_EVER).preamble).toBe('')
})

/** `/bin/sh` of most Linux machines is one of these. */
describe.each(['dash', 'bash', 'busybox'])('with %s as the system’s shell', (name) => {
  const within = replacing({ sh: findProgram(name) ?? `/nonexistent/${name}` })
  const [program = '', ...options] = within
  const confiner: Confiner = {
    means: 'namespaces',
    program: findProgram('unshare') ?? '/nonexistent/unshare',
    shownAs: 'own',
  }
  const run = (argv: readonly string[], cwd: string): string =>
    execFileSync(
      program,
      [...options, ...wrappedArgv(argv, { mode: 'workspace-write', root: undefined }, confiner, 0)],
      { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    )

  it('namespaces leave nothing to be written to but what is private', () => {
    const table = run(['cat', '/proc/self/mountinfo'], '/')
    const last = new Map(
      table.split('\n').map((line) => [line.split(' ')[4] ?? '', line.split(' ')[5] ?? '']),
    )
    const open = [...last].filter(([path, flags]) => path !== '' && !flags.split(',').includes('ro'))
    expect(last.get('/')).toMatch(/^ro,/)
    expect(open.map(([path]) => path.split('/')[1])).toEqual(
      expect.not.arrayContaining(['', 'sys', 'run', 'home', 'var', 'usr']),
    )
  })

  it('a folder that is not there in a private temporary one is told, and nothing is run', () => {
    const folder = execFileSync('mktemp', ['-d', '/tmp/presence-hidden-XXXXXX'], { encoding: 'utf8' }).trim()
    try {
      expect(() => run(['echo', 'ran'], folder)).toThrow(
        expect.objectContaining({
          status: 126,
          stdout: '',
          stderr: expect.stringContaining(`${NOT_CONFINED} its folder ${folder} cannot be seen`) as string,
        }) as Error,
      )
    } finally {
      execFileSync('rmdir', [folder])
    }
  })
})
