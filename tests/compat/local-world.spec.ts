/** Whatever is local goes to the host's own class untouched: every argument, the same object, its very answer. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FsError, FsTargetKey, FsVersion, type FsTarget } from '@deepseek-ai/dsh-fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { takeCalls } from './shapes/recorded.ts'
import { methodsOf } from './shapes/shape.ts'
import { setStage, SHAPES, type Stage } from './stage.ts'

/** Known, and never asked. */
const MACHINE = { host: '127.0.0.1', port: 9, user: 'nobody' }

/** Arguments for a local call of every method that any generation has, all that it can take. */
function argumentsFor(local: string): Readonly<Record<string, readonly unknown[]>> {
  const target: FsTarget = { targetKey: FsTargetKey(join(local, 'f')), displayPath: join(local, 'f') }
  const { signal } = new AbortController()
  const policy = { mode: 'workspace-write', workspaceRoot: local }
  const guard = { version: FsVersion('1') }
  const process = { argv: ['ls'], cwd: local, graceMs: 1, signal, env: { A: 'b' } }
  return {
    resolve: ['f', { cwd: local, signal }],
    processPath: [target],
    processPathFromHostPath: [join(local, 'f')],
    fileUrl: [target],
    contains: [target, target],
    stat: [target, signal],
    lstat: ['f', { cwd: local }, signal],
    readText: [target, signal],
    streamText: [target, signal],
    readBytes: [target, signal, 10],
    readByteRange: [target, { offset: 1, length: 2 }, signal],
    watch: [target, () => undefined, signal],
    listDir: [target, signal],
    writeText: [target, 'x', { kind: 'replaceIfVersion', ...guard }, signal, policy],
    editText: [target, { oldString: 'a', newString: 'b', replaceAll: false }, guard, signal, policy],
    resolveExecutable: ['ls', { PATH: '/bin' }, signal],
    terminalEnvironment: [signal],
    spawn: [{ ...process, stdio: { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', control: 'pipe' } }],
    spawnTerminal: [{ ...process, rows: 24, cols: 80, terminalType: 'xterm-256color', shellActivity: true }],
    confine: [['ls'], policy, signal],
  }
}

describe.each(SHAPES)('on the classes of %s', (_version, shape) => {
  let stage: Stage
  beforeAll(async () => {
    stage = await setStage(shape, MACHINE)
  })
  afterAll(() => stage.stop())
  afterEach(() => takeCalls())

  const services = { fileSystem: 'fs', subprocess: 'subprocess', sandbox: 'sandbox' } as const
  const methods = (['fileSystem', 'subprocess', 'sandbox'] as const).flatMap((name) =>
    Object.keys(methodsOf(shape[name])).map((method) => [services[name], method] as const),
  )

  it.each(methods)('%s.%s', async (name, method) => {
    const args = argumentsFor(stage.local)[method]
    if (args === undefined) throw new Error(`no arguments for ${method}`)
    const given = callOn(stage[name], method, args)
    const answer = await given
    const [call, ...more] = takeCalls()
    expect(more).toEqual([])
    expect(call?.method).toBe(method)
    expect(call?.self).toBe(stage[name])
    expect(call?.args.length).toBe(args.length)
    args.forEach((argument, index) => expect(call?.args[index]).toBe(argument))
    expect(answer).toBe(await call?.answer)
    // A promise where the host promises one, a plain value where its callers do not wait.
    expect(given instanceof Promise).toBe(call?.answer instanceof Promise)
  })

  it('also through the proxy that Cordis hands to other plugins', async () => {
    const proxy: unknown = Reflect.get(stage.ctx, 'fs')
    await callOn(proxy as object, 'stat', argumentsFor(stage.local)['stat'] ?? [])
    const [call] = takeCalls()
    expect(call?.method).toBe('stat')
    expect(Reflect.get(call?.self as object, Symbol.for('cordis.original'))).toBe(stage.fs)
  })

  it('our services keep nothing under a name that a base class might take', () => {
    for (const [name, service] of Object.entries({ fs: stage.fs, sandbox: stage.sandbox })) {
      const own = Object.keys(service).filter((key) => !['ctx', 'name'].includes(key))
      expect(
        own.filter((key) => !key.startsWith('presence')),
        name,
      ).toEqual([])
    }
    expect(Object.keys(stage.subprocess).filter((key) => !/^(ctx|name|presence.*)$/.test(key))).toEqual([])
  })

  it('a member that this host’s class lacks has an answer of its own', async () => {
    const missing = ['readByteRange', 'watch', 'processPathFromHostPath'].filter(
      (method) => !(method in methodsOf(shape.fileSystem)),
    )
    const path = join(stage.local, 'f')
    writeFileSync(path, '0123456789')
    const target = { targetKey: FsTargetKey(path), displayPath: path }
    const answers = {
      readByteRange: async () =>
        expect(Buffer.from(await stage.fs.readByteRange(target, { offset: 8, length: 5 })).toString()).toBe(
          '89',
        ),
      watch: async () => {
        const { signal } = new AbortController()
        const refused: unknown = await stage.fs.watch(target, () => undefined, signal).catch((error) => error)
        expect(refused).toBeInstanceOf(FsError)
        expect(refused).toMatchObject({ code: 'FS_IO_ERROR' })
      },
      processPathFromHostPath: () => {
        expect(stage.fs.processPathFromHostPath(path)).toBe(path)
        expect(stage.fs.processPathFromHostPath('f')).toBeUndefined()
        return Promise.resolve()
      },
    }
    for (const method of missing) await answers[method as keyof typeof answers]()
    expect(takeCalls()).toEqual([])
  })
})

function callOn(service: object, method: string, args: readonly unknown[]): unknown {
  const callable: unknown = Reflect.get(service, method)
  if (typeof callable !== 'function') throw new Error(`there is no ${method}`)
  return Reflect.apply(callable, service, args) as unknown
}
