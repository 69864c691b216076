import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { LinkLostError } from '../../src/ssh/errors.ts'
import { CollectedOutput } from '../../src/remote/process/output.ts'
import { RemoteProcess, type ProcessRequest } from '../../src/remote/process/remote-process.ts'
import { Machine } from '../../src/remote/machine.ts'
import { living, livingOn } from '../support/living.ts'
import { heldMemory } from '../support/memory.ts'
import { poolFor, settingsFor, startRig, type Rig } from '../support/rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())

interface Ran {
  readonly code: number | null
  readonly signal: string | null
  readonly out: string
  readonly err: string
}

function start(argv: readonly string[], change: Partial<ProcessRequest> = {}): RemoteProcess {
  return new RemoteProcess(
    rig.machine,
    { argv, folder: parseRemotePath(rig.folder), env: {}, input: 'none', graceMs: 2000, ...change },
    (_session, request) => request,
  )
}

async function run(argv: readonly string[], change: Partial<ProcessRequest> = {}): Promise<Ran> {
  const process = start(argv, change)
  const out: Buffer[] = []
  const err: Buffer[] = []
  process.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  process.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  const { exitCode, signal } = await process.done
  return { code: exitCode, signal, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }
}

async function untilNone(text: string): Promise<void> {
  while (living(text).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
}

describe('a command on a machine', () => {
  it('C62: tells exit code, signal, and both streams apart', async () => {
    expect(await run(['sh', '-c', 'echo out; echo err >&2; exit 3'])).toEqual({
      code: 3,
      signal: null,
      out: 'out\n',
      err: 'err\n',
    })
    expect(await run(['sh', '-c', 'kill -9 $$'])).toMatchObject({ code: null, signal: 'SIGKILL' })
  })

  it('F62: is byte for byte what a local shell would run', async () => {
    const script = `echo 'it'"'"'s' ; printf 'a b\\n' | awk '{print $1}' ; printf '%s\\n' "a'b" '!x' '\\\\'; printf '\\0\\377' | od -An -tx1`
    const local = execFileSync('bash', ['-c', script]).toString()
    expect((await run(['bash', '-c', script])).out).toBe(local)
  })

  it('F62, C55: passes arguments that no shell may look at', async () => {
    const words = ["it's", '$HOME', '`id`', 'two\nlines', '*', '-n', '', '\\', '你好']
    expect((await run(['printf', '%s\\037', ...words])).out).toBe(
      words.map((word) => `${word}\u001f`).join(''),
    )
  })

  it('F70, C61: takes arguments far longer than a command line', async () => {
    const long = 'x'.repeat(100_000)
    expect((await run(['printf', '%s', long])).out).toBe(long)
  })

  it('F68: has its folder, its variables, and nothing of the local environment', async () => {
    mkdirSync(join(rig.folder, "odd 'name\nhere"), { recursive: true })
    process.env['PRESENCE_TEST_SECRET'] = 'local'
    const ran = await run(['sh', '-c', 'pwd; echo "$GREETING"; env'], {
      folder: parseRemotePath(join(rig.folder, "odd 'name\nhere")),
      env: { GREETING: 'hi "you" $HOME' },
    })
    expect(ran.out).toMatch(/odd 'name\nhere\nhi "you" \$HOME\n/)
    expect(ran.out).not.toContain('PRESENCE_TEST_SECRET')
  })

  it('F74: has the variables that SetEnv configures, under those that are asked for', async () => {
    const setEnv = { KEPT: 'by config', ASKED: 'by config', 'not a name': 'x' }
    const pool = poolFor(() => settingsFor(rig.server, { setEnv }))
    const process = new RemoteProcess(
      new Machine(pool.connection('demo')),
      {
        argv: ['sh', '-c', 'echo "$KEPT, $ASKED"'],
        folder: parseRemotePath(rig.folder),
        env: { ASKED: 'by caller' },
        input: 'none',
        graceMs: 2000,
      },
      (_session, request) => request,
    )
    process.stderr.resume()
    const [told] = (await Promise.all([once(process.stdout, 'data'), process.done]))[0] as [Buffer]
    expect(told.toString()).toBe('by config, by caller\n')
    pool.close()
  })

  it('reads no start-up file of the account, as no command of a local session does', async () => {
    const rc = join(rig.folder, '.bashrc')
    writeFileSync(rc, 'echo NOISE; set -o noclobber; cd /\n')
    try {
      const told = await run(['bash', '-c', 'echo "$SHLVL $PWD"; echo twice >t; echo twice >t; rm t'], {
        env: { HOME: rig.folder },
      })
      expect(told.out).toMatch(new RegExp(`^\\d+ ${rig.folder}\n$`))
      expect(told.err).toBe('')
    } finally {
      rmSync(rc)
    }
  })

  it('F65, F67, C62: reads an empty input at once, or what it is given', async () => {
    expect((await run(['cat'])).code).toBe(0)
    expect((await run(['wc', '-c'], { input: { data: 'x'.repeat(3_000_000) } })).out.trim()).toBe('3000000')
    const piped = start(['tr', 'a-z', 'A-Z'], { input: 'pipe' })
    let out = ''
    piped.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    piped.stdin?.write('hello ')
    piped.stdin?.end('there')
    expect((await piped.done).exitCode).toBe(0)
    expect(out).toBe('HELLO THERE')
  })

  it('C55: that cannot start says why, and is no exit code', async () => {
    await expect(run(['true'], { folder: parseRemotePath('/no/such/folder') })).rejects.toMatchObject({
      reason: 'no-folder',
      message: expect.stringContaining('demo: the folder /no/such/folder') as string,
    })
    await expect(run(['no-such-program'])).rejects.toMatchObject({ reason: 'no-program' })
  })

  it('F61: returns when its leader ends, although a child holds the output', async () => {
    const ran = await run(['bash', '-c', 'sleep 301 & echo started'], { graceMs: 300 })
    expect(ran).toMatchObject({ code: 0, out: 'started\n' })
    expect(living('sleep 301').length).toBe(1)
    execFileSync('pkill', ['-f', '^sleep 301'])
  })
})

describe('ending a command', () => {
  it('F59, C58: ends its whole group, a child that ignores TERM included', async () => {
    const process = start(
      ['bash', '-c', 'trap "" HUP; (trap "" TERM; while :; do sleep 302; done) & sleep 302 & echo on; wait'],
      {
        graceMs: 300,
      },
    )
    await once(process.stdout, 'data')
    while (living('sleep 302').length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
    process.terminate()
    expect(await process.done).toMatchObject({ signal: 'SIGTERM' })
    expect(await process.awaitGroup()).toBe(true)
    expect(living('sleep 302')).toEqual([])
  })

  it('works for one that reads the channel, and for what outlived its leader', async () => {
    const reader = start(['sh', '-c', 'echo on; sleep 303; cat'], { input: 'pipe', graceMs: 300 })
    await once(reader.stdout, 'data')
    while (living('sleep 303').length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    reader.terminate()
    expect(await reader.done).toMatchObject({ signal: 'SIGTERM' })
    await untilNone('sleep 303')

    const parent = start(['bash', '-c', 'sleep 304 >/dev/null 2>&1 & true'])
    await parent.done
    expect(living('sleep 304').length).toBe(1)
    parent.terminate()
    expect(await parent.awaitGroup()).toBe(true)
    expect(living('sleep 304')).toEqual([])
  })

  it('before it was started starts nothing', async () => {
    const process = start(['sh', '-c', 'echo ran > should-not-exist'])
    process.terminate()
    await expect(process.done).rejects.toThrow(/cancelled/)
    expect(readdirSync(rig.folder)).not.toContain('should-not-exist')
  })
})

it(
  '200 commands by 8 workers beside file reads all succeed, and no watcher is left',
  { timeout: 120_000 },
  async () => {
    writeFileSync(join(rig.folder, 'beside'), 'content')
    let next = 0
    const results: string[] = []
    const worker = async (): Promise<void> => {
      while (next < 200) {
        const mine = next++
        results.push((await run(['echo', `n${mine}`])).out.trim())
      }
    }
    const reader = async (): Promise<void> => {
      while (results.length < 200) {
        const text = await rig.files.readText({
          path: parseRemotePath(join(rig.folder, 'beside')),
          shown: 'beside',
        })
        expect(text).toBe('content')
      }
    }
    await Promise.all([...Array.from({ length: 8 }, worker), reader()])
    expect(new Set(results).size).toBe(200)
    while ((await livingOn(rig.server, /group\(\) \{ kill/)).length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  },
)

it('500 MB of output need no more memory than a few', { timeout: 120_000 }, async () => {
  const process = start(['sh', '-c', 'head -c 500000000 /dev/zero; exit 3'])
  const output = new CollectedOutput({ maxBytes: 64_000, spillMaxBytes: 1_000_000 }, 'stdout')
  const before = heldMemory()
  let [bytes, looked, most] = [0, 0, 0]
  process.stdout.on('data', (chunk: Buffer) => {
    output.push(chunk)
    bytes += chunk.length
    if (bytes - looked < 20_000_000) return
    looked = bytes
    most = Math.max(most, heldMemory() - before)
  })
  expect(await process.done).toMatchObject({ exitCode: 3 })
  expect(bytes).toBe(500_000_000)
  expect(output.readFrom(0)).toMatchObject({ nextOffset: 500_000_000, lossy: true })
  expect(most).toBeLessThan(50 * 1024 * 1024)
})

it('C58: a connection that is cut under a command is a lost link with unknown outcome, and the command dies', async () => {
  const process = start(['bash', '-c', 'sleep 305 & sleep 305'], { graceMs: 300 })
  while (living('sleep 305').length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  const sessions = execFileSync('pgrep', ['-f', 'sshd: .*(notty|@)']).toString()
  expect(sessions).not.toBe('')
  await rig.server.restart()
  const failure = await process.done.catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(LinkLostError)
  expect(failure).toMatchObject({ outcomeUnknown: true, message: expect.stringContaining('demo:') as string })
  await untilNone('sleep 305')
  expect((await run(['echo', 'back again'])).out).toBe('back again\n')
})

describe('collected output', () => {
  it('C59: keeps the tail, spills the whole, and reads by offset', () => {
    const output = new CollectedOutput({ maxBytes: 10, spillMaxBytes: 100 }, 'stdout')
    output.push(Buffer.from('hello '))
    expect(output.readFrom(0)).toEqual({ text: 'hello ', nextOffset: 6, lossy: false })
    expect(output.readFrom(3)).toEqual({ text: 'lo ', nextOffset: 6, lossy: false })
    output.push(Buffer.from('wonderful world'))
    const read = output.readFrom(6)
    expect(read).toMatchObject({ text: 'rful world', nextOffset: 21, lossy: true })
    output.seal()
    expect(readFileSync(read.spillPath ?? '', 'utf8')).toBe('hello wonderful world')
    expect(output.readFrom(11)).toMatchObject({ text: 'rful world', lossy: false })
  })

  it('drops a spill file that cannot hold the whole', () => {
    const output = new CollectedOutput({ maxBytes: 4, spillMaxBytes: 8 }, 'stderr')
    output.push(Buffer.from('12345'))
    const { spillPath } = output.readFrom(0)
    output.push(Buffer.from('67890'))
    expect(output.readFrom(0)).toEqual({ text: '7890', nextOffset: 10, lossy: true })
    expect(() => readFileSync(spillPath ?? '')).toThrow(/ENOENT/)
  })
})
