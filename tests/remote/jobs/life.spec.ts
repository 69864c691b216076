import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startOpenSsh } from '../../../scripts/machine/openssh.ts'
import { outputOf } from '../../support/command-output.ts'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { UnconfinedError } from '../../../src/core/sandbox-policy.ts'
import { JobLostError } from '../../../src/remote/jobs/errors.ts'
import { StartError } from '../../../src/remote/process/errors.ts'
import { heldMemory } from '../../support/memory.ts'
import { startDropbear } from '../../support/dropbear.ts'
import { lineTo, type Line } from '../../ssh/life/line.ts'
import { adoptJob, startJob, until, type Heard } from './bench.ts'

let root = ''
let server: DemoMachine
let line: Line
let folder = ''

beforeAll(async () => {
  root = mkdtempSync('/var/tmp/presence-jobs-')
  server = await startOpenSsh({ folder: root })
})
afterAll(async () => {
  await server.stop()
  rmSync(root, { recursive: true, force: true })
})
beforeEach(async () => {
  folder = mkdtempSync(join(server.home, 'work-'))
  line = await lineTo(server)
})
afterEach(() => line.close())

/** A file that the job waits for. */
function gate(name: string): { readonly wait: string; open(): void } {
  const path = join(folder, name)
  return { wait: `while [ ! -e ${path} ]; do sleep 0.02; done`, open: () => writeFileSync(path, '') }
}

function isAlive(pid: string): boolean {
  const stat = `/proc/${pid.trim()}/stat`
  return existsSync(stat) && !readFileSync(stat, 'latin1').includes(') Z ')
}

describe('a background job', () => {
  it('C59: goes on over resets of the connection, and its output comes whole and once', async () => {
    const [one, two] = [gate('one'), gate('two')]
    const {
      job,
      out,
      err,
      notes,
      folder: place,
    } = startJob(
      line.machine,
      `seq 1 2000; echo e1 >&2; ${one.wait}; seq 2001 4000; echo e2 >&2; ${two.wait}; echo last; exit 7`,
      folder,
    )
    await until(() => out().endsWith('2000\n') && err() === 'e1\n')
    line.proxy.reset()
    one.open()
    await until(() => out().endsWith('4000\n') && err() === 'e1\ne2\n')
    line.proxy.reset()
    two.open()
    expect(await job.done).toEqual({ exitCode: 7, signal: null })
    const numbers = Array.from({ length: 4000 }, (_, index) => `${index + 1}\n`).join('')
    expect(out()).toBe(`${numbers}last\n`)
    expect(err()).toBe('e1\ne2\n')
    expect(statSync(place()).mode & 0o777).toBe(0o700)
    await job.discard()
    expect(existsSync(place())).toBe(false)
    expect(notes).toEqual(['placed', 'collected', 'removed'])
  })

  it('C59: is cut in the middle of its output again and again, and nothing is lost or comes twice', async () => {
    const { job, out } = startJob(line.machine, 'seq 1 200000', folder)
    let cuts = 0
    // Each connection carries a little more than half of what is needed to get going and on.
    const forget = line.connection.changes.on(({ kind }) => {
      if (kind !== 'ready' || cuts >= 4) return
      cuts += 1
      line.proxy.cutNow({ way: 'down', after: 150_000 * cuts, by: 'reset' })
    })
    expect(await job.done).toEqual({ exitCode: 0, signal: null })
    forget()
    expect(cuts).toBeGreaterThan(1)
    expect(out()).toBe(Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(''))
    await job.discard()
  })

  it('C59: that ended while nobody was there has its exit known, and its unread output', async () => {
    const go = gate('go')
    const first = startJob(line.machine, `echo early; ${go.wait}; echo late; kill -TERM $$`, folder)
    await until(() => first.out() === 'early\n')
    // As if this host were killed: nothing is said to the machine.
    line.proxy.freeze()
    go.open()
    await until(() => !readFileSync(join(first.folder(), 'exit'), 'latin1').startsWith('-'))
    const later = await lineTo(server)
    try {
      const again = adoptJob(later.machine, first, { out: 3, err: 0 })
      expect(await again.job.done).toEqual({ exitCode: null, signal: 'SIGTERM' })
      expect(again.out()).toBe('ly\nlate\n')
      await again.job.discard()
      expect(existsSync(first.folder())).toBe(false)
    } finally {
      await later.close()
    }
  })

  it('C58: that is ended leaves no process and no file, although its children ignore TERM', async () => {
    const command = `(trap '' TERM; while :; do sleep 0.1; done) & echo $!; sleep 305 & echo $!; wait`
    const { job, out, notes, folder: place } = startJob(line.machine, command, folder, { graceMs: 300 })
    await until(() => out().split('\n').length === 3)
    const children = out().trim().split('\n')
    job.terminate()
    const { exitCode, signal } = await job.done
    expect({ exitCode, signal }).toEqual({ exitCode: null, signal: 'SIGTERM' })
    expect(await job.awaitGroup()).toBe(true)
    expect(children.filter(isAlive)).toEqual([])
    await until(() => !existsSync(place()))
    await until(() => notes.at(-1) === 'removed')
    expect(notes).toEqual(['placed', 'ending', 'collected', 'removed'])
  })

  it('that is to end while its machine is away is left to the next connection, and said to be', async () => {
    const started = startJob(line.machine, 'echo $$; sleep 305', folder)
    const { job, out, notes, folder: place } = started
    await until(() => out().endsWith('\n'))
    await line.proxy.close()
    job.terminate()
    await expect(job.done).rejects.toThrow(
      /^demo: the background job could not be ended yet.*outcome unknown/,
    )
    expect(notes).toEqual(['placed', 'ending'])
    expect(isAlive(out())).toBe(true)
    const later = await lineTo(server)
    try {
      const again = adoptJob(later.machine, started, { out: 0, err: 0 })
      again.job.terminate()
      expect(await again.job.done).toMatchObject({ signal: 'SIGTERM' })
      await until(() => !existsSync(place()))
    } finally {
      await later.close()
    }
  })

  it('C59: that is not there any more, or whose supervisor was killed, is unknown and never an exit', async () => {
    const gone = startJob(line.machine, 'sleep 305', folder)
    const killed = startJob(line.machine, 'echo up; sleep 305', folder)
    await until(() => gone.notes.length > 0 && killed.out() === 'up\n')
    await until(() => readFileSync(join(gone.folder(), 'pid'), 'latin1').trim() !== '')
    const [, group = '', supervisor = ''] = readFileSync(join(killed.folder(), 'pid'), 'utf8').split(' ')
    process.kill(Number(supervisor), 'SIGKILL')
    process.kill(-Number(group), 'SIGKILL')
    await expect(killed.job.done).rejects.toThrow(/^demo: .*without telling how: the machine was restarted/)
    await expect(killed.job.done).rejects.toBeInstanceOf(JobLostError)
    await until(() => killed.notes.at(-1) === 'removed')
    const [, other = '', watcher = ''] = readFileSync(join(gone.folder(), 'pid'), 'utf8').split(' ')
    rmSync(gone.folder(), { recursive: true })
    process.kill(Number(watcher), 'SIGKILL')
    process.kill(-Number(other), 'SIGKILL')
    await expect(gone.job.done).rejects.toThrow(
      /^demo: .*is not there any more: there is no folder .*outcome unknown/,
    )
    expect(gone.notes).toEqual(['placed', 'removed'])
  })

  it('has odd folders, words and variables, and says what is missing as a command does', async () => {
    const odd = join(folder, "odd 'name\nhere")
    mkdirSync(odd)
    const long = 'x'.repeat(20_000)
    const hard = startJob(line.machine, `pwd; echo "$GREETING"; echo ${long}`, odd, {
      env: { GREETING: "it's $x" },
    })
    expect(await hard.job.done).toEqual({ exitCode: 0, signal: null })
    expect(hard.out()).toBe(`${odd}\nit's $x\n${long}\n`)
    await hard.job.discard()
    const nowhere = startJob(line.machine, 'true', join(folder, 'none'))
    await expect(nowhere.job.done).rejects.toThrow(/^demo: the folder .* does not exist there/)
    expect(nowhere.notes).toEqual(['placed', 'removed'])
    const nothing = startJob(line.machine, '', folder, { argv: ['no-such-program-here'] })
    await expect(nothing.job.done).rejects.toThrow(
      /^demo: the program "no-such-program-here" is not installed/,
    )
  })

  it('that may not be run, because nothing confines it say, is not, and nothing is known or left of it', async () => {
    const { job, notes } = startJob(line.machine, 'echo > ran', folder, {}, ({ machine }) => {
      throw new UnconfinedError(machine)
    })
    await expect(job.done).rejects.toBeInstanceOf(UnconfinedError)
    expect(notes).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  })

  it('C59: of 100 MB needs no more memory than a small one, nor when it is found again in the middle of it', async () => {
    const go = gate('go')
    const first = startJob(line.machine, `head -c 100000000 /dev/zero; ${go.wait}`, folder)
    expect(await mostHeld(first, 100_000_000)).toBeLessThan(MOST_BYTES)
    const again = adoptJob(line.machine, first, { out: 30_000_000, err: 0 })
    expect(await mostHeld(again, 70_000_000)).toBeLessThan(MOST_BYTES)
    go.open()
    expect(await Promise.all([first.job.done, again.job.done])).toEqual(
      [1, 2].map(() => ({ exitCode: 0, signal: null })),
    )
    await again.job.discard()
    expect(existsSync(first.folder())).toBe(false)
  })
})

const MOST_BYTES = 48 * 1024 * 1024

/** What is held of a job's output while all of it comes, at most, in bytes. */
async function mostHeld({ job }: Heard, bytes: number): Promise<number> {
  // As the host does it: what comes is looked at and let go.
  job.stdout.removeAllListeners('data')
  let came = 0
  let looked = 0
  let most = 0
  const before = heldMemory()
  job.stdout.on('data', (chunk: Buffer) => {
    came += chunk.length
    if (came - looked < 10_000_000) return
    looked = came
    most = Math.max(most, heldMemory() - before)
  })
  await until(() => came >= bytes)
  expect(came).toBe(bytes)
  return most
}

it('a temporary folder that is full fails a job with words, and nothing is left in it', async () => {
  const small = mkdtempSync('/var/tmp/presence-full-')
  // A temporary folder of its own that holds next to nothing.
  const mounted = ['--perms', '1777', '--size', '16384', '--tmpfs', '/tmp']
  const within = ['bwrap', '--die-with-parent', '--dev-bind', '/', '/', ...mounted, '--cap-add', 'ALL', '--']
  const full = await startOpenSsh({ folder: small, within })
  const to = await lineTo(full)
  try {
    const filling = startJob(to.machine, 'cat /dev/zero > /tmp/all; echo full', full.home)
    const { exitCode } = await filling.job.done
    expect(exitCode).not.toBe(null)
    const late = startJob(to.machine, 'true', full.home)
    const failure = await late.job.done.catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StartError)
    expect(failure).toMatchObject({
      reason: 'no-room',
      message: expect.stringMatching(
        /^demo: a background job keeps its output in \/tmp\/.*could not be made: .*(No space left|I\/O error; the disk may be full there)/,
      ) as string,
    })
    // The one that filled the disk could still tell its exit.
    await filling.job.discard()
    const session = await to.machine.session()
    expect(await outputOf(session.exec, 'ls -A /tmp')).toBe('all\n')
    expect(filling.notes.at(-1)).toBe('removed')
  } finally {
    await to.close()
    await full.stop()
    rmSync(small, { recursive: true, force: true })
  }
})

it('jobs live on when dropbear loses its connection, one short command at a time', async () => {
  const dropbear = await startDropbear()
  const { machine, pool } = dropbear.visit()
  try {
    const home = dropbear.account.home
    const flag = join(home, 'go')
    const wait = `while [ ! -e ${flag} ]; do sleep 0.02; done`
    const jobs = [1, 2].map((number) => startJob(machine, `echo a${number}; ${wait}; echo b${number}`, home))
    await until(() => jobs.every((each) => each.out() !== ''))
    machine.current?.link.end()
    writeFileSync(flag, '')
    for (const [index, each] of jobs.entries()) {
      expect(await each.job.done).toEqual({ exitCode: 0, signal: null })
      expect(each.out()).toBe(`a${index + 1}\nb${index + 1}\n`)
      await each.job.discard()
    }
    expect(readdirSync('/tmp')).not.toContain(jobs[0]?.folder().slice('/tmp/'.length))
  } finally {
    pool.close()
    await dropbear.stop()
  }
})
