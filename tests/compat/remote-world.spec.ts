/** A real machine behind our seams, on the classes of every generation: all methods, and nothing of it served locally. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type {
  SubprocessHandle,
  SubprocessSpawnSpec,
  SubprocessTerminalSpawnSpec,
} from '@deepseek-ai/dsh-subprocess'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { entryOf } from '../support/host.ts'
import { startRig, type Rig } from '../support/rig.ts'
import { takeCalls } from './shapes/recorded.ts'
import { setStage, SHAPES, type Stage } from './stage.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig.stop())

describe.each(SHAPES)('on the classes of %s', (version, shape) => {
  let stage: Stage
  /** A folder on the machine, and its local spelling. */
  let folder = ''
  let mount = ''

  beforeAll(async () => {
    stage = await setStage(shape, entryOf(rig.server))
  })
  afterAll(() => stage.stop())
  let count = 0
  beforeEach(() => {
    folder = join(realpathSync(rig.folder), `${version}-${(count += 1)}`)
    mount = stage.mount(folder)
    mkdirSync(folder)
  })
  afterEach(() => {
    expect(takeCalls()).toEqual([])
  })

  describe('files', () => {
    it('resolve, are looked at, listed, and have paths that lead back to them', async () => {
      mkdirSync(join(folder, 'sub'))
      writeFileSync(join(folder, 'f'), 'x')
      const { fs } = stage
      const root = await fs.resolve(mount)
      const file = await fs.resolve('f', { cwd: mount })
      expect(file.targetKey).toBe(`presence://demo${folder}/f`)
      expect(fs.processPath(file)).toBe(join(mount, 'f'))
      expect((await fs.resolve(fs.processPath(file))).targetKey).toBe(file.targetKey)
      expect(fs.fileUrl(file)).toBe(pathToFileURL(join(mount, 'f')).href)
      expect([fs.contains(root, file), fs.contains(file, root)]).toEqual([true, false])
      expect(await fs.stat(file)).toMatchObject({ type: 'file', size: 1 })
      expect(await fs.stat(await fs.resolve('none', { cwd: mount }))).toBeUndefined()
      expect(await fs.lstat('sub', { cwd: mount })).toMatchObject({ type: 'directory' })
      expect((await fs.listDir(root)).map(({ name, type }) => [name, type])).toEqual([
        ['f', 'file'],
        ['sub', 'directory'],
      ])
    })

    it('are read whole, in chunks, as bytes and by ranges', async () => {
      writeFileSync(join(folder, 'f'), 'line\nnext\n')
      const { fs } = stage
      const file = await fs.resolve('f', { cwd: mount })
      expect(await fs.readText(file)).toBe('line\nnext\n')
      let streamed = ''
      for await (const chunk of await fs.streamText(file)) streamed += chunk
      expect(streamed).toBe('line\nnext\n')
      expect(Buffer.from(await fs.readBytes(file, undefined, 100)).toString()).toBe('line\nnext\n')
      await expect(fs.readBytes(file, undefined, 3)).rejects.toMatchObject({ code: 'FS_TOO_LARGE' })
      expect(Buffer.from(await fs.readByteRange(file, { offset: 5, length: 50 })).toString()).toBe('next\n')
      expect((await fs.readByteRange(file, { offset: 50, length: 5 })).length).toBe(0)
    })

    it('are written and edited under the host’s guards', async () => {
      const { fs } = stage
      const file = await fs.resolve('f', { cwd: mount })
      const made = await fs.writeText(file, 'one\n', { kind: 'createIfAbsent' })
      expect(made).toMatchObject({ operation: 'create', before: null, after: 'one\n' })
      await expect(fs.writeText(file, 'x', { kind: 'createIfAbsent' })).rejects.toMatchObject({
        code: 'FS_NOT_OBSERVED',
      })
      const edit = { oldString: 'one', newString: 'two', replaceAll: false }
      const edited = await fs.editText(file, edit, { version: made.version })
      expect(edited).toMatchObject({ before: 'one\n', after: 'two\n' })
      await expect(fs.editText(file, edit, { version: made.version })).rejects.toMatchObject({
        code: 'FS_STALE_VERSION',
      })
      const readOnly = { mode: 'read-only' as const, workspaceRoot: mount }
      await expect(fs.writeText(file, 'x', undefined, undefined, readOnly)).rejects.toMatchObject({
        code: 'FS_SANDBOX_DENIED',
      })
      expect(readFileSync(join(folder, 'f'), 'utf8')).toBe('two\n')
    })

    it('tell of changes, and of a file that appears', async () => {
      const { fs } = stage
      const leave = new AbortController()
      const seen = Promise.withResolvers<Error | undefined>()
      const stop = await fs.watch(await fs.resolve('new', { cwd: mount }), seen.resolve, leave.signal)
      writeFileSync(join(folder, 'new'), 'x')
      expect(await seen.promise).toBeUndefined()
      await stop()
    })

    it('have no process path for files of the host', () => {
      expect(stage.fs.processPathFromHostPath(join(mount, 'f'))).toBeUndefined()
    })
  })

  describe('processes', () => {
    const spec = (argv: readonly string[], more: Partial<SubprocessSpawnSpec> = {}): SubprocessSpawnSpec => ({
      argv,
      cwd: mount,
      stdio: { stdin: 'ignore', stdout: { maxBytes: 10_000 }, stderr: { maxBytes: 10_000 } },
      graceMs: 1000,
      ...more,
    })
    const told = async (handle: SubprocessHandle): Promise<object> => ({
      ...(await handle.done),
      stdout: handle.collected.stdout?.readFrom(0).text,
      stderr: handle.collected.stderr?.readFrom(0).text,
    })

    it('run there, behind handles with the members of every generation', async () => {
      const handle = stage.subprocess.spawn(spec(['sh', '-c', 'pwd; echo problem >&2; exit 3']))
      for (const member of [
        'pid',
        'stdin',
        'stdout',
        'stderr',
        'control',
        'collected',
        'done',
        'terminate',
        'waitForExit',
      ])
        expect(member in handle, member).toBe(true)
      expect(handle.pid).toBe(-1)
      expect(Reflect.get(handle, 'control')).toBeUndefined()
      expect(await told(handle)).toEqual({
        exitCode: 3,
        signal: null,
        stdout: `${folder}\n`,
        stderr: 'problem\n',
      })
      expect(await handle.waitForExit()).toBe(true)
    })

    it('with a control channel are refused, since there is none between two computers', async () => {
      const stdio = { ...spec([]).stdio, control: 'pipe' as const }
      const handle = stage.subprocess.spawn(spec(['touch', 'made'], { stdio }))
      await expect(handle.done).rejects.toMatchObject({ name: 'StartError', machine: 'demo' })
      expect(await handle.waitForExit()).toBe(true)
      expect(existsSync(join(folder, 'made'))).toBe(false)
    })

    it('C66: that would write git’s index or objects to the host’s scratch paths are refused', async () => {
      execFileSync('git', ['init', '--quiet', folder])
      writeFileSync(join(folder, 'f'), 'x')
      for (const name of ['GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY']) {
        const scratch = join(stage.local, name)
        const handle = stage.subprocess.spawn(
          spec(['git', 'add', '--all'], { env: { ...process.env, [name]: scratch } }),
        )
        await expect(handle.done).rejects.toThrow(new RegExp(`${name} names "${scratch}" on this computer`))
        expect(existsSync(scratch)).toBe(false)
      }
      expect(existsSync(join(folder, '.git/index'))).toBe(false)
      const own = stage.subprocess.spawn(
        spec(['git', 'add', '--all'], { env: { GIT_INDEX_FILE: '.git/other' } }),
      )
      expect(await own.done).toEqual({ exitCode: 0, signal: null })
      expect(existsSync(join(folder, '.git/other'))).toBe(true)
    })

    it.each(['git', '/usr/bin/git'])(
      'C57, C66: that snapshot a repository of the machine are told by %s that there is none, and every other question is git’s',
      async (program) => {
        execFileSync('git', ['init', '--quiet', folder])
        const question = ['rev-parse', '--show-toplevel', '--absolute-git-dir', '--git-path', 'objects']
        expect(await told(stage.subprocess.spawn(spec([program, ...question])))).toEqual({
          exitCode: 128,
          signal: null,
          stdout: '',
          stderr: expect.stringMatching(/^fatal: not a git repository/) as string,
        })
        const piped = stage.subprocess.spawn(
          spec([program, ...question], { stdio: { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' } }),
        )
        expect(await piped.done).toEqual({ exitCode: 128, signal: null })
        expect((await piped.stderr?.toArray())?.join('')).toMatch(/^fatal: not a git repository/)
        expect(
          await told(stage.subprocess.spawn(spec([program, 'rev-parse', '--show-toplevel']))),
        ).toMatchObject({ exitCode: 0, stdout: `${folder}\n` })
      },
    )

    it('C07: have this machine’s paths in place of mount spellings among their arguments, and their input as it is', async () => {
      writeFileSync(join(folder, 'f'), 'file\n')
      const argv = ['sh', '-c', `cat - ${mount}/f "$1"`, 'sh', join(mount, 'f')]
      const stdio = { ...spec([]).stdio, stdin: { data: `input ${mount}/f\n` } }
      expect(await told(stage.subprocess.spawn(spec(argv, { stdio })))).toMatchObject({
        exitCode: 0,
        stdout: `input ${mount}/f\nfile\nfile\n`,
      })
    })

    it('C05: in a local folder that is a link to what stands for a machine run nowhere', () => {
      const link = join(stage.local, `link-${count}`)
      mkdirSync(mount, { recursive: true })
      symlinkSync(mount, link)
      const start = (): unknown => stage.subprocess.spawn(spec(['touch', 'made'], { cwd: link }))
      expect(start).toThrow(`name that instead: "${mount}"`)
      expect(existsSync(join(mount, 'made'))).toBe(false)
      expect(existsSync(join(folder, 'made'))).toBe(false)
    })

    it('already aborted are refused at once, as the host’s own', () => {
      expect(() => stage.subprocess.spawn(spec(['ls'], { signal: AbortSignal.abort() }))).toThrow(
        /aborted before spawn/,
      )
    })
  })

  it('a terminal takes the request of every generation, and its handle has all their members', async () => {
    const spec: SubprocessTerminalSpawnSpec & { terminalType?: string; shellActivity?: boolean } = {
      argv: ['sh', '-i'],
      cwd: mount,
      rows: 24,
      cols: 80,
      graceMs: 1000,
      ...(shape.versions.includes('0.1.0-rc.8') ? {} : { terminalType: 'xterm-256color' }),
      ...(shape.versions.includes('0.2.1-alpha.2') ? { shellActivity: true } : {}),
    }
    const terminal = await stage.subprocess.spawnTerminal(spec)
    for (const member of [
      'pid',
      'output',
      'done',
      'write',
      'resize',
      'inspectForeground',
      'inspectActivity',
      'signalForeground',
      'terminate',
    ])
      expect(member in terminal, member).toBe(true)
    const later = terminal as typeof terminal & {
      resize(cols: number, rows: number): Promise<void>
      inspectActivity(): Promise<{ state: string; revision: number }>
    }
    await later.resize(132, 50)
    expect(await later.inspectActivity()).toEqual({
      state: 'unknown',
      revision: expect.any(Number) as number,
    })
    let output = ''
    terminal.output.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await terminal.write('printf "%s|" "$TERM" "$(stty size)" "$(pwd -P)"; exit 7\n')
    expect(await terminal.done).toEqual({ exitCode: 7, signal: null })
    expect(output).toContain(`${spec.terminalType ?? 'dumb'}|50 132|${folder}|`)
    await terminal.terminate()
  })

  it('a confined command is wrapped at once, for callers who wait for it and for those who do not', async () => {
    const policy = { mode: 'workspace-write' as const, workspaceRoot: mount }
    const taken = stage.sandbox.confine(['sh', '-c', 'echo ok > made; cat made'], policy)
    expect('then' in taken).toBe(false)
    expect(await Promise.resolve(taken)).toBe(taken)
    expect(Object.keys(taken).toSorted()).toEqual([
      'argv',
      'denialSignatures',
      'enforcement',
      'runnerFailureRules',
    ])
    const handle = stage.subprocess.spawn({
      argv: taken.argv,
      cwd: mount,
      stdio: { stdin: 'ignore', stdout: { maxBytes: 1000 }, stderr: { maxBytes: 1000 } },
      graceMs: 1000,
    })
    expect(await handle.done, handle.collected.stderr?.readFrom(0).text).toEqual({
      exitCode: 0,
      signal: null,
    })
    expect(handle.collected.stdout?.readFrom(0).text).toBe('ok\n')
    expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('ok\n')
  })

  it('a command of an unknown machine’s workspace runs nowhere, and its start says why', async () => {
    const root = stage.mount('/').replace(/demo\/?$/, 'gone/srv')
    const taken = stage.sandbox.confine(
      ['touch', 'made'],
      { mode: 'read-only', workspaceRoot: root },
      new AbortController().signal,
    )
    const spawned = async (cwd: string): Promise<string> => {
      const stdio = { stdin: 'ignore', stdout: { maxBytes: 1000 }, stderr: { maxBytes: 1000 } } as const
      const handle = stage.subprocess.spawn({ argv: taken.argv, cwd, stdio, graceMs: 1000 })
      return JSON.stringify(await handle.done)
    }
    const messages = await Promise.all(
      [root, mount, folder].map((cwd) =>
        spawned(cwd).then(
          (ended) => `ran: ${ended}`,
          (error: unknown) => String(error),
        ),
      ),
    )
    expect(messages[0]).toMatch(/"gone", which is not known/)
    for (const message of messages) expect(message).not.toMatch(/^ran/)
    expect(existsSync(join(folder, 'made'))).toBe(false)
  })
})
