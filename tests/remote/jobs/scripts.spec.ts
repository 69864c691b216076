import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { findProgram } from '../../../scripts/project/programs.ts'
import { startScript } from '../../../src/remote/shell/command-line.ts'
import {
  END_JOB,
  FOLLOW_JOB,
  FORGOTTEN_DAYS,
  JOB_STATUS,
  REMOVE_JOB,
  START_JOB,
} from '../../../src/remote/shell/job-scripts.ts'
import { living } from './bench.ts'

const run = promisify(execFile)
const root = mkdtempSync('/var/tmp/presence job scripts ')
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Shell = readonly [string, ...string[]]

/** Shells that may be `/bin/sh` on a machine. */
const SHELLS: readonly Shell[] = [['dash'], ['bash', '--posix'], ['bash'], ['busybox', 'sh'], ['zsh']]

let folder = ''
let jobs = 0
beforeEach(() => {
  folder = mkdtempSync(join(root, "it's a "))
})

interface Options {
  readonly env?: NodeJS.ProcessEnv
  readonly in?: string
  readonly script?: string
}

async function perform(
  [program, ...options]: Shell,
  script: string,
  args: readonly string[],
  env = process.env,
): Promise<string> {
  const child = spawn(findProgram(program) ?? '', [...options, '-c', script, 'presence', ...args], {
    detached: true,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  // Not its exit: nothing of a job may hold the streams of the command that started it.
  await new Promise((resolve) => child.on('close', resolve))
  return output
}

async function start(
  shell: Shell,
  command: string,
  { env, in: at = folder, script = START_JOB }: Options = {},
): Promise<{ said: string; job: string }> {
  const job = join(folder, `presence-job-${String((jobs += 1)).padStart(24, '0')}`)
  const words = ['MARK', job, at, '1', "GREETING=it's me", 'sh', '-c', command]
  return { said: await perform(shell, script, words, env), job }
}

async function statusOf(shell: Shell, job: string): Promise<Record<string, string>> {
  const output = await perform(shell, JOB_STATUS, ['MARK', job])
  const lines = output.split('MARK').map((line) => line.trim())
  return Object.fromEntries(
    lines.filter((line) => line !== '').map((line) => line.split('=') as [string, string]),
  )
}

async function ended(shell: Shell, job: string): Promise<Record<string, string>> {
  for (;;) {
    const status = await statusOf(shell, job)
    if (status['alive'] !== 'yes') return status
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function follow(
  shell: Shell,
  job: string,
  out = 1,
  err = 1,
): { child: ChildProcess; out(): string; err(): string } {
  const [program, ...options] = shell
  const words = [...options, '-c', FOLLOW_JOB, 'presence', 'MARK', job, String(out), String(err)]
  const child = spawn(program, words, { detached: true })
  const heard = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (heard.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (heard.err += chunk.toString()))
  return { child, out: () => heard.out, err: () => heard.err }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe.each(SHELLS.map((shell) => ({ name: shell.join(' '), shell })))('under $name', ({ shell }) => {
  it('a job lives on without the command that started it, and tells its output and its exit', async () => {
    const { said, job } = await start(
      shell,
      'pwd; echo "$GREETING"; echo err >&2; cat; trap "exit 5" INT; echo up; while :; do sleep 0.05; done',
    )
    expect(said).toMatch(/^MARKok \d+\nMARKend\n$/)
    expect(statSync(job).mode & 0o777).toBe(0o700)
    expect(statSync(join(job, 'out')).mode & 0o777).toBe(0o600)
    const following = follow(shell, job)
    await until(() => following.out().includes('up'))
    const group = Number(/\d+/.exec(said)?.[0])
    expect(await statusOf(shell, job)).toMatchObject({ alive: 'yes', group: String(group), exit: '-' })
    // It heeds INT, as a command in the foreground does.
    process.kill(-group, 'SIGINT')
    await new Promise((resolve) => following.child.on('close', resolve))
    expect(following.child.exitCode).toBe(0)
    expect(following.out()).toBe(`MARKok\n${folder}\nit's me\nup\n`)
    expect(following.err()).toBe('MARK\nerr\n')
    const status = await statusOf(shell, job)
    expect(status).toMatchObject({ alive: 'no', exit: 'code 5', err: '4' })
    expect(Number(status['out'])).toBe(`${folder}\nit's me\nup\n`.length)
    const again = follow(shell, job, 2, 4)
    await new Promise((resolve) => again.child.on('close', resolve))
    expect(again.out()).toBe(`MARKok\n${`${folder}\nit's me\nup\n`.slice(1)}`)
    expect(again.err()).toBe('MARK\n\n')
    expect(await perform(shell, REMOVE_JOB, ['MARK', job])).toBe('MARKend\n')
    expect(await perform(shell, REMOVE_JOB, ['MARK', job])).toBe('MARKend\n')
    expect(readdirSync(folder)).toEqual([])
    expect(await statusOf(shell, job)).toEqual({ gone: undefined, end: undefined })
  })

  it('an exit code and a signal are told apart', async () => {
    const exits = async (command: string): Promise<string | undefined> => {
      const { job } = await start(shell, command)
      return (await ended(shell, job))['exit']
    }
    expect(await exits('exit 0')).toBe('code 0')
    expect(await exits('sleep 0.1; exit 143')).toBe('code 143')
    expect(await exits('exit 127')).toBe('code 127')
    // zsh says nothing of signals.
    expect(await exits('kill -TERM $$')).toBe(shell[0] === 'zsh' ? 'code 143' : 'signal TERM')
    expect(await exits('sleep 0.1; kill -KILL $$')).toBe(shell[0] === 'zsh' ? 'code 137' : 'signal KILL')
  })

  it('an exit code is kept although the job ends before its supervisor looks', async () => {
    const script = START_JOB.replace('LC_ALL=C\n', 'LC_ALL=C\nsleep 0.3\n')
    expect(script).not.toBe(START_JOB)
    for (const code of [0, 3, 127, 143]) {
      const { job } = await start(shell, `exit ${code}`, { script })
      expect((await ended(shell, job))['exit']).toBe(`code ${code}`)
    }
  })

  it.each([
    { group: 'of its own', hides: false },
    { group: 'that the server made', hides: true },
  ])(
    'C58: ending leaves no process, although a child ignores TERM, with a group $group',
    async ({ hides }) => {
      const name = `stubborn-${process.pid}-${jobs}`
      const stubborn = `sh -c 'trap "" TERM; while :; do sleep 0.1; done # ${name}' & sleep 304 & echo up; wait`
      const { job } = await start(shell, stubborn, hides ? { env: withoutSetsid() } : {})
      await until(() => readFileSync(join(job, 'out'), 'utf8') === 'up\n')
      await perform(shell, END_JOB, [job, '3'])
      const status = await ended(shell, job)
      expect(status['exit']).toMatch(/^(signal (TERM|KILL)|code 143)$/)
      expect(living(name)).toBe(0)
    },
  )

  it('what follows a job goes with its lifeline, and the job stays', async () => {
    const { job } = await start(shell, 'echo up; sleep 304')
    const following = follow(shell, job)
    await until(() => following.out().includes('up'))
    following.child.stdin?.end()
    await new Promise((resolve) => following.child.on('close', resolve))
    expect(following.child.exitCode).not.toBe(0)
    expect(await statusOf(shell, job)).toMatchObject({ alive: 'yes', exit: '-' })
    await perform(shell, END_JOB, [job, '3'])
    await ended(shell, job)
  })

  it('a supervisor that was killed leaves no exit, and whoever follows hears of it', async () => {
    const { job } = await start(shell, 'echo up; sleep 304')
    const following = follow(shell, job)
    await until(() => following.out().includes('up'))
    const [, group = '', supervisor = ''] = readFileSync(join(job, 'pid'), 'utf8').split(' ')
    process.kill(Number(supervisor), 'SIGKILL')
    await new Promise((resolve) => following.child.on('close', resolve))
    expect(await ended(shell, job)).toMatchObject({ alive: 'no', exit: '-' })
    process.kill(-Number(group), 'SIGKILL')
  })

  it('says what is missing, and leaves nothing', async () => {
    expect((await start(shell, 'true', { in: join(folder, 'none') })).said).toBe('MARKfolder\nMARKend\n')
    const words = ['MARK', join(folder, 'presence-job-1'), folder, '0', 'no-such-program-here']
    expect(await perform(shell, START_JOB, words)).toBe('MARKprogram\nMARKend\n')
    const nowhere = ['MARK', join(folder, 'none/presence-job-1'), folder, '0', 'true']
    expect(await perform(shell, START_JOB, nowhere)).toMatch(/^MARKroom .*No such file or directory/)
    expect(readdirSync(folder)).toEqual([])
  })

  it('C59: removes what nobody has collected for long, but nothing that runs, is recent, a link or another’s', async () => {
    const named = async (name: string): Promise<string> => {
      const { job } = await start(shell, 'true')
      await ended(shell, job)
      renameSync(job, join(folder, name))
      return join(folder, name)
    }
    // They are looked at in the order of their names.
    const nameOf = (letter: string): string => `presence-job-${letter.repeat(24)}`
    const young = await named(nameOf('a'))
    const stranger = await named(nameOf('b'))
    const old = await named(nameOf('d'))
    const aside = await named('aside')
    const running = await start(shell, 'sleep 304')
    symlinkSync(aside, join(folder, nameOf('c')))
    chownSync(stranger, 65534, 65534)
    const ago = (days: number): number => Date.now() / 1000 - days * 24 * 3600
    for (const job of [old, running.job, stranger, aside])
      utimesSync(join(job, 'exit'), ago(FORGOTTEN_DAYS + 2), ago(FORGOTTEN_DAYS + 2))
    utimesSync(join(young, 'exit'), ago(FORGOTTEN_DAYS - 1), ago(FORGOTTEN_DAYS - 1))
    await start(shell, 'true')
    await until(() => !existsSync(old))
    expect([young, stranger, aside].map((path) => existsSync(join(path, 'exit')))).toEqual([true, true, true])
    expect(await statusOf(shell, running.job)).toMatchObject({ alive: 'yes' })
    await perform(shell, END_JOB, [running.job, '3'])
  })

  it('what stands in the place of a job’s folder, a link or another’s folder, is asked nothing and left alone', async () => {
    const { job } = await start(shell, 'echo up; sleep 304')
    const link = join(folder, 'link')
    symlinkSync(job, link)
    const asked = async (place: string): Promise<void> => {
      expect(await statusOf(shell, place)).toEqual({ gone: undefined, end: undefined })
      const following = follow(shell, place)
      await new Promise((resolve) => following.child.on('close', resolve))
      expect(following.out()).toBe('MARKgone\n')
      await perform(shell, END_JOB, [place, '1'])
      expect(await perform(shell, REMOVE_JOB, ['MARK', place])).toBe('MARKend\n')
    }
    await asked(link)
    chownSync(job, 65534, 65534)
    await asked(job)
    chownSync(job, 0, 0)
    expect(await statusOf(shell, job)).toMatchObject({ alive: 'yes', exit: '-' })
    // One that runs is not removed either.
    expect(await perform(shell, REMOVE_JOB, ['MARK', job])).toBe('it runs\n')
    await perform(shell, END_JOB, [job, '3'])
    await ended(shell, job)
    expect(await perform(shell, REMOVE_JOB, ['MARK', job])).toBe('MARKend\n')
    expect(existsSync(job)).toBe(false)
  })

  it('C59: a job that fills the disk keeps how it ended, and the next one says that there is no room', async () => {
    const full = mkdtempSync(join(root, 'full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', full])
    try {
      folder = full
      const ends = async (command: string): Promise<string | undefined> => {
        const { job } = await start(shell, `cat /dev/zero 2>/dev/null; ${command}`, { in: '/' })
        const status = await ended(shell, job)
        expect(Number(status['out'])).toBeGreaterThan(50_000)
        const late = join(full, 'presence-job-late')
        // busybox does not say why.
        expect(await perform(shell, START_JOB, ['MARK', late, '/', '0', 'true'])).toMatch(
          shell[0] === 'busybox' ? /^MARKroom \n/ : /^MARKroom .*(No space left|I\/O error|[Ww]rite error)/,
        )
        expect(existsSync(late)).toBe(false)
        expect(await perform(shell, REMOVE_JOB, ['MARK', job])).toBe('MARKend\n')
        return status['exit']
      }
      expect(await ends('exit 0')).toBe('code 0')
      expect(await ends('exit 3')).toBe('code 3')
      expect(await ends('kill -TERM $$')).toBe(shell[0] === 'zsh' ? 'code 143' : 'signal TERM')
    } finally {
      execFileSync('umount', ['-l', full])
    }
  })

  it('C59: a job that ends at once keeps how it ended although the disk is full', async () => {
    const full = mkdtempSync(join(root, 'full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', full])
    try {
      folder = full
      // It is full before the job begins, and has ended before its supervisor looks.
      const script = START_JOB.replace(
        'exec </dev/null',
        'cat /dev/zero >"$_j/../all" 2>/dev/null; exec </dev/null',
      ).replace('LC_ALL=C\n', 'LC_ALL=C\nsleep 0.3\n')
      expect(script).toMatch(/all[^]*sleep 0\.3/)
      for (const code of [0, 3]) {
        const { job } = await start(shell, `exit ${code}`, { in: '/', script })
        expect((await ended(shell, job))['exit']).toBe(`code ${code}`)
        rmSync(join(full, 'all'))
      }
    } finally {
      execFileSync('umount', ['-l', full])
    }
  })
})

/** The system's programs but one. */
function withoutSetsid(): NodeJS.ProcessEnv {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  for (const name of ['sh', 'mkdir', 'mkfifo', 'rm', 'rmdir', 'sleep', 'find', 'ps', 'wc', 'tail']) {
    symlinkSync(findProgram(name) ?? '', join(bin, name))
  }
  return { ...process.env, PATH: bin }
}

it('starting a job fits into the command line of every server, or goes through standard input', async () => {
  const job = join(folder, 'presence-job-1')
  const words = ['MARK', job, folder, '0', 'sh', '-c', `echo ${'x'.repeat(8000)}`]
  for (const loginShell of ['posix', 'foreign'] as const) {
    const { commandLine, preamble } = startScript(START_JOB, words, loginShell)
    expect(commandLine.length).toBeLessThan(6000)
    const running = run('sh', ['-c', commandLine])
    running.child.stdin?.end(preamble)
    // What has to be heard is said before it ends itself.
    const { stdout } = await running.catch((killed: unknown) => killed as { stdout: string })
    expect(stdout).toMatch(/^MARKok \d+\nMARKend\n$/)
    expect(await ended(['sh'], job)).toMatchObject({ exit: 'code 0', out: '8001' })
    await perform(['sh'], REMOVE_JOB, ['MARK', job])
  }
})
