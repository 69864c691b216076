/**
 * The rows of Presence in bare contexts, with the host's real packages and a real machine: that they
 * find together in any order, come and go, and that whatever fails is heard and leaves nothing behind.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import { SandboxedFileSystem } from '@deepseek-ai/dsh-fs-sandbox'
import SandboxPolicyService from '@deepseek-ai/dsh-sandbox-policy'
import type { SubprocessRuntime } from '@deepseek-ai/dsh-subprocess'
import * as presence from '../../index.ts'
import { sharePresence, type Presence } from '../../src/core/presence.ts'
import * as fileReference from '../../src/seams/file-reference.ts'
import PresenceFileSystem from '../../src/seams/fs.ts'
import PresenceSandbox from '../../src/seams/sandbox.ts'
import PresenceSubprocess from '../../src/seams/subprocess.ts'
import { BareHost, type Row } from './bare-host.ts'

/** Whether our rows are loaded before what they need and those who need them, or after all of it. */
export type Order = 'provider-first' | 'provider-last'

export interface Bench {
  readonly order: Order
  /** A folder on this computer. */
  readonly local: string
  /** A folder on the machine, in its local spelling, and as the machine has it. */
  readonly mount: string
  readonly remote: string
}

export interface Scenario {
  readonly name: string
  /** @throws AssertionError with what is not as it should be. */
  run(bench: Bench): Promise<void>
}

const FS_CONFIG = {}

/** Events of the host by which a row knows on whose behalf something happens. */
const FOLLOWED = ['agent/status', 'agent/pre-step', 'tools/execute']

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'every row activates, whatever comes first, and serves both worlds',
    async run(bench) {
      const host = new BareHost()
      try {
        const rows = await loadAll(host, bench.order)
        for (const row of rows) assert.equal(host.stateOf(row), 'active', row.name)
        assert.equal(await host.complaint(), undefined)
        assert.ok(host.service('fs') instanceof SandboxedFileSystem)
        await servesBothWorlds(host, bench)
      } finally {
        await host.close()
      }
    },
  },
  {
    name: 'the file system can be unloaded and loaded again under those who use it',
    async run(bench) {
      const host = new BareHost()
      try {
        await host.load('sandbox-policy', SandboxPolicyService, { mode: 'danger-full-access' })
        const first = await host.load('presence-fs', PresenceFileSystem, FS_CONFIG)
        await host.load('presence-subprocess', PresenceSubprocess)
        const consumer = await host.load('consumer', consumerOf(['fs']))
        await servesBothWorlds(host, bench)
        await host.unload(first)
        assert.equal(host.service('fs'), undefined)
        assert.equal(host.stateOf(consumer), 'pending')
        await host.load('presence-fs', PresenceFileSystem, FS_CONFIG)
        assert.equal(host.stateOf(consumer), 'active')
        await servesBothWorlds(host, bench)
        assert.deepEqual(host.errors(), [])
      } finally {
        await host.close()
      }
    },
  },
  {
    name: 'a row that is loaded twice is refused loudly, and the first one goes on',
    async run(bench) {
      const host = new BareHost()
      try {
        await loadAll(host, bench.order)
        for (const [name, plugin] of [
          ['presence-fs', PresenceFileSystem],
          ['presence-subprocess', PresenceSubprocess],
          ['presence-sandbox', PresenceSandbox],
        ] as const) {
          const second = await host.load(name, plugin, FS_CONFIG)
          assert.equal(host.stateOf(second), 'failed', name)
          await assert.rejects(second.fiber.await(), /has been registered/)
          assert.match((await host.complaint()) ?? '', new RegExp(`${name}: .*has been registered`))
        }
        assert.equal(host.errors().filter((error) => error.includes('has been registered')).length, 3)
        await servesBothWorlds(host, bench)
      } finally {
        await host.close()
      }
    },
  },
  {
    name: 'beside the host’s own file system there is one, and the other is refused loudly',
    async run(bench) {
      const host = new BareHost()
      try {
        await host.load('sandbox-policy', SandboxPolicyService, { mode: 'danger-full-access' })
        const rows: [string, unknown][] = [
          ['presence-fs', PresenceFileSystem],
          ['fs-sandbox', SandboxedFileSystem],
        ]
        if (bench.order === 'provider-last') rows.reverse()
        const [first, second] = await Promise.all(
          rows.map(([name, plugin]) => host.load(name, plugin, FS_CONFIG)),
        )
        assert.ok(first !== undefined && second !== undefined)
        assert.deepEqual([host.stateOf(first), host.stateOf(second)], ['active', 'failed'])
        assert.match((await host.complaint()) ?? '', new RegExp(`${second.name}: .*has been registered`))
        await readsLocally(host, bench)
      } finally {
        await host.close()
      }
    },
  },
  {
    name: 'without the sandbox policy there is no file system, and the host says what it waits for',
    async run(bench) {
      const host = new BareHost()
      try {
        const consumer = (): Promise<Row> => host.load('consumer', consumerOf(['fs']))
        const provider = (): Promise<Row> => host.load('presence-fs', PresenceFileSystem, FS_CONFIG)
        const [ours, theirs] =
          bench.order === 'provider-first'
            ? [await provider(), await consumer()]
            : (await Promise.all([consumer(), provider()])).toReversed()
        assert.ok(ours !== undefined && theirs !== undefined)
        assert.equal(host.service('fs'), undefined)
        assert.deepEqual([host.stateOf(ours), host.stateOf(theirs)], ['pending', 'pending'])
        const complaint = (await host.complaint()) ?? ''
        assert.match(complaint, /presence-fs: pending \(waiting for service: sandboxPolicy\)/)
        assert.match(complaint, /consumer: pending \(waiting for service: fs\)/)
        await host.load('sandbox-policy', SandboxPolicyService, { mode: 'danger-full-access' })
        assert.deepEqual([host.stateOf(ours), host.stateOf(theirs)], ['active', 'active'])
      } finally {
        await host.close()
      }
    },
  },
  {
    name: 'a file system that fails while it is built is heard, leaves nothing, and the host’s own can follow',
    async run(bench) {
      const host = new BareHost()
      try {
        await host.load('sandbox-policy', SandboxPolicyService, { mode: 'danger-full-access' })
        const failed = await host.load('presence-fs', failingFileSystem('the disk is on fire'), FS_CONFIG)
        const consumer = await host.load('consumer', consumerOf(['fs']))
        assert.equal(host.stateOf(failed), 'failed')
        assert.equal(host.service('fs'), undefined)
        assert.ok(host.errors().includes('the disk is on fire'))
        const complaint = (await host.complaint()) ?? ''
        assert.match(complaint, /presence-fs: .*the disk is on fire/)
        assert.match(complaint, /consumer: pending \(waiting for service: fs\)/)
        await host.load('fs-sandbox', SandboxedFileSystem, FS_CONFIG)
        assert.equal(host.stateOf(consumer), 'active')
        await readsLocally(host, bench)
      } finally {
        await host.close()
      }
    },
  },
  {
    name: 'the rows share one Presence, which closes with the last of them and is made anew for the next',
    async run(bench) {
      const host = new BareHost()
      try {
        const [first, second] = [await holderIn(host), await holderIn(host)]
        assert.equal(first.presence, second.presence)
        const machine = first.presence.machine('demo')
        await machine.session()
        await host.unload(bench.order === 'provider-first' ? first.row : second.row)
        assert.notEqual(machine.current, undefined)
        for (const event of FOLLOWED) assert.equal(host.listeners(event), 1, event)
        await host.unload(bench.order === 'provider-first' ? second.row : first.row)
        assert.equal(machine.current, undefined)
        await assert.rejects(machine.session())
        for (const event of FOLLOWED) assert.equal(host.listeners(event), 0, event)
        const third = await holderIn(host)
        assert.notEqual(third.presence, first.presence)
        await third.presence.machine('demo').session()
      } finally {
        await host.close()
      }
    },
  },
  {
    name: 'two hosts in one process have nothing in common',
    async run(bench) {
      const [one, other] = [new BareHost(), new BareHost()]
      try {
        const [first, second] = [await holderIn(one), await holderIn(other)]
        assert.notEqual(first.presence, second.presence)
        await loadAll(other, bench.order)
        await one.close()
        await servesBothWorlds(other, bench)
      } finally {
        await one.close()
        await other.close()
      }
    },
  },
]

/** What DSH's profile has of our rows, and what they stand on and are used by. */
async function loadAll(host: BareHost, order: Order): Promise<Row[]> {
  const ours: [string, unknown, object?][] = [
    ['presence-fs', PresenceFileSystem, FS_CONFIG],
    ['presence-subprocess', PresenceSubprocess],
    ['presence-sandbox', PresenceSandbox],
    ['presence-file-reference', fileReference],
    ['presence', presence],
  ]
  const theirs: [string, unknown, object?][] = [
    ['consumer', consumerOf(['fs', 'subprocess', 'sandbox'])],
    ['sandbox-policy', SandboxPolicyService, { mode: 'danger-full-access' }],
  ]
  const rows =
    order === 'provider-first' ? [...ours, ...theirs] : [...theirs.toReversed(), ...ours.toReversed()]
  const loaded: Row[] = []
  for (const [name, plugin, config] of rows) loaded.push(await host.load(name, plugin, config))
  return loaded
}

async function servesBothWorlds(host: BareHost, bench: Bench): Promise<void> {
  await readsLocally(host, bench)
  const fs = host.service<FileSystem>('fs')
  const subprocess = host.service<SubprocessRuntime>('subprocess')
  assert.ok(fs !== undefined && subprocess !== undefined)
  const file = await fs.resolve('remote.txt', { cwd: bench.mount })
  const text = `written at ${process.hrtime.bigint()}\n`
  await fs.writeText(file, text)
  assert.equal(readFileSync(join(bench.remote, 'remote.txt'), 'utf8'), text)
  assert.equal(await fs.readText(file), text)
  const folders = { [bench.local]: bench.local, [bench.mount]: bench.remote }
  for (const [cwd, expected] of Object.entries(folders)) {
    const stdio = {
      stdin: 'ignore' as const,
      stdout: { maxBytes: 1000 },
      stderr: { maxBytes: 1000 },
    }
    const handle = subprocess.spawn({ argv: ['pwd'], cwd, stdio, graceMs: 1000 })
    assert.deepEqual(await handle.done, { exitCode: 0, signal: null })
    assert.equal(handle.collected.stdout?.readFrom(0).text, `${expected}\n`)
  }
}

async function readsLocally(host: BareHost, bench: Bench): Promise<void> {
  const fs = host.service<FileSystem>('fs')
  assert.ok(fs !== undefined)
  writeFileSync(join(bench.local, 'local.txt'), 'local\n')
  const file = await fs.resolve('local.txt', { cwd: bench.local })
  assert.equal(file.targetKey, join(bench.local, 'local.txt'))
  assert.equal(await fs.readText(file), 'local\n')
}

/** A plugin that does nothing but need services. */
function consumerOf(inject: readonly string[]): object {
  return { name: 'consumer', inject, apply: () => undefined }
}

/** Ours, complete, and then a failure: everything it has begun must be undone. */
function failingFileSystem(message: string): unknown {
  return class FailingFileSystem extends PresenceFileSystem {
    constructor(ctx: Context, config: object) {
      super(ctx, config)
      throw new Error(message)
    }
  }
}

/** A row that only shares Presence. */
async function holderIn(host: BareHost): Promise<{ readonly row: Row; readonly presence: Presence }> {
  const made = Promise.withResolvers<Presence>()
  const row = await host.load('holder', (ctx: Context) => made.resolve(sharePresence(ctx)))
  return { row, presence: await made.promise }
}
