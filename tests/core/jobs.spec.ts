/** What is written down of background jobs: whose they are, which machine they are on, and what is put right there. */
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { Jobs, type HeldJob } from '../../src/core/jobs.ts'
import { JobStore, type JobRecord } from '../../src/places/job-store.ts'
import { jobHandle } from '../../src/seams/job-handle.ts'
import { lineTo, type Line } from '../ssh/life/line.ts'
import { outputOf } from '../support/command-output.ts'
import { settingsFor } from '../support/rig.ts'
import { living, until } from '../remote/jobs/bench.ts'

let root = ''
beforeAll(() => {
  root = mkdtempSync('/var/tmp/presence-job-records-')
  chmodSync(root, 0o755)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** The record of one test, and the hosts that use it. */
let folder = ''
let lines: Line[] = []
beforeEach(() => {
  folder = mkdtempSync(join(root, 'record-'))
  lines = []
})
afterEach(async () => {
  await Promise.all(lines.map((line) => line.close()))
})

interface Host {
  readonly line: Line
  readonly jobs: Jobs
  readonly warnings: readonly string[]
}

/** A host that has just started; an earlier one counts as killed. */
async function host(server: DemoMachine): Promise<Host> {
  const line = await lineTo(server)
  lines.push(line)
  const warnings: string[] = []
  const warn = (text: string): void => void warnings.push(text)
  const jobs = new Jobs(new JobStore(folder, warn), warn)
  jobs.attend(line.machine)
  return { line, jobs, warnings }
}

function start({ line, jobs }: Host, server: DemoMachine, command: string): HeldJob & { out(): string } {
  const origin = { session: 'one', command, cwd: '/nowhere', mode: undefined }
  const request = {
    argv: ['sh', '-c', command],
    folder: parseRemotePath(server.home),
    env: {},
    input: 'none' as const,
    graceMs: 300,
  }
  return heard(jobs.start(line.machine, origin, request, (_session, asked) => asked))
}

function heard(held: HeldJob | undefined): HeldJob & { out(): string } {
  if (held === undefined) throw new Error('there is no such job')
  let out = ''
  held.job.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  held.job.stderr.resume()
  return { ...held, out: () => out }
}

/** The only record there is. */
function record(): JobRecord {
  const [file, ...others] = readdirSync(folder)
  expect(others).toEqual([])
  return JSON.parse(readFileSync(join(folder, file ?? ''), 'utf8')) as JobRecord
}

/** The host that has the jobs is killed: its number is nobody's any more. */
async function abandon(): Promise<void> {
  const gone = spawn('true')
  await new Promise((resolve) => gone.once('close', resolve))
  for (const name of readdirSync(folder)) {
    renameSync(join(folder, name), join(folder, name.replace(`.${process.pid}.`, `.${String(gone.pid)}.`)))
  }
}

/** Another process; it holds what it has claimed. */
async function otherProcess(): Promise<{ claim(): Promise<string[]>; end(): Promise<void> }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'claimant.ts'), folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await said.next()
  return {
    claim: async () => {
      child.stdin.write('\n')
      const { value } = await said.next()
      return JSON.parse(String(value)) as string[]
    },
    end: async () => {
      const ended = new Promise((resolve) => child.once('close', resolve))
      child.stdin.end()
      await ended
    },
  }
}

describe('the record of background jobs', () => {
  it('C59: gives each job to exactly one of the processes that take it over at the same moment', async () => {
    const earlier = new JobStore(folder, (text) => expect.fail(text))
    const ids = Array.from({ length: 200 }, (_, index) => index.toString(16).padStart(24, '0'))
    const base = { machine: 'demo', home: { host: '', hostKey: '' }, session: 'one', command: 'true' }
    for (const id of ids) {
      earlier.keep({
        ...base,
        id,
        folder: parseRemotePath(`/tmp/presence-job-${id}`),
        cwd: '/',
        mode: undefined,
        graceMs: 1000,
        startedAt: Date.now(),
        read: { out: 0, err: 0 },
        state: 'running',
      })
    }
    await abandon()
    const others = await Promise.all([1, 2, 3].map(() => otherProcess()))
    try {
      const got = await Promise.all(others.map((other) => other.claim()))
      expect(got.flat().toSorted()).toEqual(ids)
      expect(readdirSync(folder).length).toBe(ids.length)
      // As long as they live nobody else gets any.
      const later = new JobStore(folder, (text) => expect.fail(text))
      expect(later.list()).toEqual([])
      expect(ids.map((id) => later.claim(id))).toEqual(ids.map(() => undefined))
    } finally {
      await Promise.all(others.map((other) => other.end()))
    }
    expect(new JobStore(folder, (text) => expect.fail(text)).list().length).toBe(ids.length)
  })
})

describe('background jobs of an earlier host', () => {
  let server: DemoMachine
  beforeAll(async () => {
    server = await startOpenSsh({ folder: join(root, 'machine') })
  })
  afterAll(() => server.stop())

  it('C17: are neither adopted nor ended nor removed as long as another process has them', async () => {
    const first = await host(server)
    const { out } = start(first, server, 'echo up; exec sleep 7301')
    await until(() => out() === 'up\n')
    const { folder: place, id } = record()
    first.jobs.close()
    first.line.proxy.freeze()
    await abandon()
    const other = await otherProcess()
    expect(await other.claim()).toEqual([id])
    change((written) => written.replace('"running"', '"ending"'))
    const second = await host(server)
    expect(second.jobs.adoptable('one')).toEqual([])
    expect(second.jobs.claim(id)).toBe(false)
    expect(second.jobs.adopt(second.line.machine, id)).toBeUndefined()
    await connected(second)
    expect(record()).toMatchObject({ id, state: 'ending' })
    expect(existsSync(place)).toBe(true)
    expect(living('sleep\x007301')).toBe(1)
    // When that has ended, the next connection does what it was to do.
    await other.end()
    await connected(second)
    await until(() => readdirSync(folder).length === 0)
    expect(existsSync(place)).toBe(false)
    expect(living('sleep\x007301')).toBe(0)
    expect(second.warnings).toEqual([])
  })

  it('C58: are ended, or what is left of them removed, at the next connection, as it was written down', async () => {
    const first = await host(server)
    const all = [
      start(first, server, 'echo up; exec sleep 7302'),
      start(first, server, 'echo up'),
      start(first, server, 'echo up; exec sleep 7303'),
    ]
    await until(() => all.every(({ out }) => out() === 'up\n'))
    await all[1]?.job.done
    first.line.proxy.freeze()
    first.jobs.close()
    const states = { 'exec sleep 7302': 'ending', 'echo up': 'collected', 'exec sleep 7303': 'running' }
    const places = new Map<string, string>()
    for (const name of readdirSync(folder)) {
      const job = JSON.parse(readFileSync(join(folder, name), 'utf8')) as JobRecord
      const key = job.command.split('; ').at(-1) as keyof typeof states
      places.set(states[key], job.folder)
      writeFileSync(join(folder, name), JSON.stringify({ ...job, state: states[key] }))
    }
    const second = await host(server)
    await connected(second)
    await until(() => readdirSync(folder).length === 1)
    const exists = (state: string): boolean => existsSync(places.get(state) ?? '')
    expect(['ending', 'collected', 'running'].map(exists)).toEqual([false, false, true])
    expect([living('sleep\x007302'), living('sleep\x007303')]).toEqual([0, 1])
    const [left] = second.jobs.adoptable('one')
    const held = heard(second.jobs.adopt(second.line.machine, left?.id ?? ''))
    held.job.terminate()
    expect(await held.job.done).toMatchObject({ signal: 'SIGTERM' })
    await until(() => readdirSync(folder).length === 0)
  })

  it('are not looked for behind a link, or in a folder of somebody else, that stands in their place', async () => {
    const first = await host(server)
    const { out, job } = start(first, server, 'echo up')
    await job.done
    expect(out()).toBe('up\n')
    const { folder: place } = record()
    first.jobs.close()
    // Another job of the same account: a link to it must not end it.
    const bait = start(await host(server), server, 'echo up; exec sleep 7304')
    await until(() => bait.out() === 'up\n')
    const baits = readdirSync(folder)
      .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as JobRecord)
      .find((each) => each.folder !== place)
    rmSync(place, { recursive: true })
    symlinkSync(baits?.folder ?? '', place)
    try {
      change((written) => written.replace('"running"', '"ending"'), place)
      const second = await host(server)
      await connected(second)
      await until(() => readdirSync(folder).length === 1)
      expect(existsSync(join(baits?.folder ?? '', 'exit'))).toBe(true)
      expect(living('sleep\x007304')).toBe(1)
    } finally {
      rmSync(place)
      bait.job.terminate()
    }
    expect(await bait.job.done).toMatchObject({ signal: 'SIGTERM' })
  })

  it.each([
    { why: 'the login is refused', says: /^demo: .*(refused|denied|authentication|log in|accept)/i },
    { why: 'the host key has changed', says: /^demo: .*host key/i },
  ])(
    'C17: go on unseen while $why, which is told, and are followed again once that is over',
    async ({ why, says }) => {
      const first = await host(server)
      const go = join(folder, '../go')
      rmSync(go, { force: true })
      const { out } = start(
        first,
        server,
        `echo up; while [ ! -e ${go} ]; do sleep 0.02; done; echo over; exit 5`,
      )
      await until(() => out() === 'up\n')
      const { id, folder: place } = record()
      first.jobs.close()
      first.line.proxy.freeze()
      const second = await host(server)
      second.line.change = why.includes('login') ? withoutKey(server) : withOtherHostKey(server)
      const held = heard(second.jobs.adopt(second.line.machine, id))
      await until(() => held.job.obstacle !== undefined)
      expect(held.job.obstacle).toMatch(says)
      expect(second.jobs.unfollowed('one')).toEqual([
        { command: record().command, reason: held.job.obstacle },
      ])
      expect(second.jobs.unfollowed('another')).toEqual([])
      expect(record()).toMatchObject({ id, state: 'running' })
      expect(readFileSync(join(place, 'exit'), 'latin1')).toMatch(/^-/)
      const { made } = second.line.proxy
      writeFileSync(go, '')
      await until(() => readFileSync(join(place, 'exit'), 'latin1').startsWith('code'))
      // It does not try again by itself, as that might lock the account.
      expect(second.line.proxy.made).toBe(made)
      second.line.change = {}
      await second.line.machine.session()
      expect(await held.job.done).toEqual({ exitCode: 5, signal: null })
      expect(held.out()).toBe('up\nover\n')
      expect(second.jobs.unfollowed('one')).toEqual([])
      held.collect()
      await until(() => readdirSync(folder).length === 0)
      expect(existsSync(place)).toBe(false)
    },
  )

  it('C59: that could not be ended yet are ended at the next connection, although they were read to their end', async () => {
    const first = await host(server)
    const held = start(first, server, 'echo up; exec sleep 7308')
    const collect = { maxBytes: 1000 }
    // As the host has it.
    const handle = jobHandle(held, {
      argv: ['bash', '-c', 'echo up; exec sleep 7308'],
      cwd: '/nowhere',
      graceMs: 300,
      stdio: { stdin: 'ignore', stdout: collect, stderr: collect },
    } as SubprocessSpawnSpec)
    await until(() => held.out() === 'up\n')
    await first.line.proxy.close()
    handle.terminate()
    await expect(handle.done).rejects.toThrow(/could not be ended yet/)
    expect(handle.collected.stdout?.readFrom(0).text).toBe('up\n')
    handle.collected.stderr?.readFrom(0)
    await new Promise((resolve) => setImmediate(resolve))
    expect(record().state).toBe('ending')
    first.jobs.close()
    await connected(await host(server))
    await until(() => readdirSync(folder).length === 0)
    expect(living('sleep\x007308')).toBe(0)
  })

  it('C58, C59: whose machine was restarted are told as unknown, and no process that has their numbers now is ended', async () => {
    const first = await host(server)
    const all = ['7305', '7306'].map((nap) => start(first, server, `echo up; exec sleep ${nap}`))
    await until(() => all.every(({ out }) => out() === 'up\n'))
    first.jobs.close()
    first.line.proxy.freeze()
    const files = readdirSync(folder)
    const groups: number[] = []
    for (const name of files) {
      const { folder: place } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as JobRecord
      const written = readFileSync(join(place, 'pid'), 'latin1')
      groups.push(Number(written.split(' ')[1]))
      // The processes live on, as others that have got the same numbers would; nobody has the FIFO open.
      rmSync(join(place, 'alive'))
      execFileSync('mkfifo', [join(place, 'alive')])
      writeFileSync(
        join(place, 'pid'),
        written.replace(/[0-9a-f-]{36}/, '00000000-0000-0000-0000-000000000000'),
      )
    }
    const [adopted, ending] = all.map(({ job: _job }, index) => files[index]?.split('.', 1)[0] ?? '')
    const second = await host(server)
    const held = heard(second.jobs.adopt(second.line.machine, adopted ?? ''))
    await expect(held.job.done).rejects.toThrow(
      /^demo: the background job ended without telling how: the machine was restarted.*outcome unknown/,
    )
    expect(held.out()).toBe('up\n')
    expect(await held.job.awaitGroup(AbortSignal.timeout(5000))).toBe(false)
    change((written) => written.replace('"running"', '"ending"'), ending)
    await connected(second)
    await until(() => readdirSync(folder).length === 0)
    expect([living('sleep\x007305'), living('sleep\x007306')]).toEqual([1, 1])
    for (const group of groups) process.kill(-group, 'SIGKILL')
  })
})

describe('when another machine answers under the name of the one that a job is on', () => {
  it.each([
    { what: 'with a temporary folder of its own', name: 'right', shared: false },
    { what: 'with the same temporary folder', name: 'right', shared: true },
    { what: 'with the same host name and another host key', name: 'left', shared: false },
  ])(
    'C17, C58: $what, the job is neither adopted nor ended nor forgotten there',
    async ({ name, shared }) => {
      const machines = await Promise.all([twin('left', 'left'), twin(name, shared ? 'left' : 'right')])
      const [left, right] = machines
      if (left === undefined || right === undefined) throw new Error('there are two')
      try {
        const first = await host(left)
        const { out } = start(first, left, 'echo up; exec sleep 7307')
        await until(() => out() === 'up\n')
        const { id, folder: place } = record()
        const seen = place.replace(/^\/tmp/, join(root, 'tmp-left'))
        first.jobs.close()
        first.line.proxy.freeze()
        const second = await host(left)
        second.line.change = { ...settingsFor(right), alias: 'left' }
        const held = heard(second.jobs.adopt(second.line.machine, id))
        await until(() => held.job.obstacle !== undefined)
        expect(held.job.obstacle).toMatch(
          /^left: this is not the machine that the background job was started on: /,
        )
        expect(held.job.obstacle).toContain(
          name === 'left' ? 'it has shown another host key' : 'it calls itself "right", and that one "left"',
        )
        expect(record()).toMatchObject({ id, state: 'running' })
        held.job.terminate()
        await expect(held.job.done).rejects.toThrow(
          /^left: the background job could not be ended yet.*not the machine/,
        )
        // Nor is it later, by what every connection puts right.
        await connected(second)
        expect(record()).toMatchObject({ id, state: 'ending' })
        expect(readFileSync(join(seen, 'exit'), 'latin1')).toMatch(/^-/)
        expect(living('sleep\x007307')).toBe(1)
        second.line.change = {}
        await connected(second)
        await until(() => readdirSync(folder).length === 0)
        expect(living('sleep\x007307')).toBe(0)
        expect(existsSync(seen)).toBe(false)
      } finally {
        await Promise.all(machines.map((machine) => machine.stop()))
      }
    },
  )
})

/** A machine with processes and a host name of its own, and a temporary folder that others may have too. */
async function twin(alias: string, tmp: string): Promise<DemoMachine> {
  const own = join(root, `tmp-${tmp}`)
  mkdirSync(own, { recursive: true })
  chmodSync(own, 0o1777)
  const privileges = process.getuid?.() === 0 ? ['--cap-add', 'ALL'] : []
  const view = ['--dev-bind', '/', '/', '--bind', own, '/tmp', '--unshare-uts', '--hostname', alias]
  const apart = ['--unshare-pid', '--proc', '/proc']
  return startOpenSsh({
    folder: mkdtempSync(join(root, `${alias}-`)),
    alias,
    within: ['bwrap', '--die-with-parent', ...view, ...apart, ...privileges, '--'],
  })
}

/** Write the records down otherwise; those alone that have `only` in them. */
function change(how: (written: string) => string, only = ''): void {
  for (const name of readdirSync(folder)) {
    const written = readFileSync(join(folder, name), 'utf8')
    if (written.includes(only)) writeFileSync(join(folder, name), how(written))
  }
}

/** Over a new connection, and what each puts right has at least begun. */
async function connected({ line }: Host): Promise<void> {
  line.connection.drop()
  const session = await line.machine.session()
  await outputOf(session.exec, 'true')
}

function withoutKey(server: DemoMachine): Line['change'] {
  return { auth: { ...settingsFor(server).auth, identityFiles: [] } }
}

function withOtherHostKey(server: DemoMachine): Line['change'] {
  const file = join(folder, '../known')
  const name = `[${server.host}]:${server.port}`
  const key = readFileSync(server.knownHostsFile, 'utf8').trim().split(' ').slice(1)
  // The same kind of key with other content.
  writeFileSync(file, `${name} ${key[0] ?? ''} ${(key[1] ?? '').replace(/.{6}(=*)$/, 'AAAAAA$1')}\n`)
  const { hostKeys } = settingsFor(server)
  return { hostKeys: { ...hostKeys, alias: name, userFiles: [file] } }
}
