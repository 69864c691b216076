/**
 * Our seams on one generation of the host's contracts: the host's packages are replaced by a shape's
 * classes, everything below the seams is real, and so is the machine.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Context, Service } from '@deepseek-ai/cordis'
import type { SandboxExecutionPolicy, SandboxMode } from '@deepseek-ai/dsh-sandbox'
import { vi } from 'vitest'
import type { CurrentSession } from '../../src/core/current-session.ts'
import type { Presence } from '../../src/core/presence.ts'
import type PresenceFileSystem from '../../src/seams/fs.ts'
import type PresenceSandbox from '../../src/seams/sandbox.ts'
import type PresenceSubprocess from '../../src/seams/subprocess.ts'
import { rc8 } from './shapes/rc8.ts'
import type { Shape } from './shapes/shape.ts'
import { v016 } from './shapes/v016.ts'
import { v021 } from './shapes/v021.ts'

/** For `describe.each`. */
export const SHAPES: readonly (readonly [string, Shape])[] = [
  ['0.1.0-rc.8', rc8],
  ['0.1.6', v016],
  ['0.2.1', v021],
]

type SeamClass<T> = { new (ctx: Context, config: object): T; readonly prototype: T }

export interface SeamClasses {
  readonly fileSystem: SeamClass<PresenceFileSystem>
  readonly subprocess: SeamClass<PresenceSubprocess>
  readonly sandbox: SeamClass<PresenceSandbox>
  sharePresence(ctx: Context): Presence
  onBehalfOf<T>(session: CurrentSession, run: () => T): T
}

export interface Stage {
  readonly shape: Shape
  readonly classes: SeamClasses
  readonly ctx: Context
  /** The services themselves, not the proxies that Cordis hands out. */
  readonly fs: PresenceFileSystem
  readonly subprocess: PresenceSubprocess
  readonly sandbox: PresenceSandbox
  readonly presence: Presence
  /** A folder on this computer. */
  readonly local: string
  /** The local spelling of a path of the machine `demo`. */
  mount(path: string): string
  stop(): Promise<void>
}

/** Our seam classes, made anew on the classes of one shape. */
export async function seamsOn(shape: Shape): Promise<SeamClasses> {
  vi.resetModules()
  for (const [name, module] of Object.entries(shape.modules)) vi.doMock(name, () => module)
  const [fs, subprocess, sandbox, presence, session] = await Promise.all([
    import('../../src/seams/fs.ts'),
    import('../../src/seams/subprocess.ts'),
    import('../../src/seams/sandbox.ts'),
    import('../../src/core/presence.ts'),
    import('../../src/core/current-session.ts'),
  ])
  return {
    fileSystem: fs.default as SeamClass<PresenceFileSystem>,
    subprocess: subprocess.default,
    sandbox: sandbox.default,
    sharePresence: presence.sharePresence,
    onBehalfOf: session.onBehalfOf,
  }
}

/** @param machine - the entry of `demo` in machines.yml. */
export async function setStage(shape: Shape, machine: object): Promise<Stage> {
  const folder = realpathSync(mkdtempSync('/var/tmp/presence-compat-'))
  const home = join(folder, 'dsh')
  const local = join(folder, 'local')
  mkdirSync(local)
  mkdirSync(join(home, 'presence'), { recursive: true })
  writeFileSync(join(home, 'presence/machines.yml'), JSON.stringify({ demo: machine }))
  process.env['DSH_HOME'] = home
  const classes = await seamsOn(shape)
  const ctx = new Context()
  const { plugin } = ctx as unknown as Plugging
  const started = [
    plugin.call(ctx, FixedPolicy, { mode: 'danger-full-access', workspaceRoot: local }),
    plugin.call(ctx, classes.fileSystem, {}),
    plugin.call(ctx, classes.subprocess, {}),
    plugin.call(ctx, classes.sandbox, {}),
  ]
  const presence = Promise.withResolvers<Presence>()
  started.push(plugin.call(ctx, (scope: Context) => presence.resolve(classes.sharePresence(scope)), {}))
  for (const fiber of started) await fiber.await()
  return {
    shape,
    classes,
    ctx,
    fs: itself<PresenceFileSystem>(ctx, 'fs'),
    subprocess: itself<PresenceSubprocess>(ctx, 'subprocess'),
    sandbox: itself<PresenceSandbox>(ctx, 'sandbox'),
    presence: await presence.promise,
    local,
    mount: (path) => join(home, 'presence/mounts/demo', path),
    stop: async () => {
      for (const fiber of started.toReversed()) await fiber.dispose()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Plugging {
  plugin(row: unknown, config: unknown): { await(): Promise<unknown>; dispose(): Promise<void> }
}

/** The service behind the proxy that a context hands out. */
export function itself<T>(ctx: Context, name: string): T {
  const service: unknown = (ctx as unknown as { get(name: string): unknown }).get(name)
  if (service === undefined) throw new Error(`ctx.${name} is not there`)
  return Reflect.get(service as object, Symbol.for('cordis.original')) as T
}

class FixedPolicy extends Service {
  readonly defaultMode: SandboxMode = 'danger-full-access'
  readonly policy: SandboxExecutionPolicy

  constructor(ctx: Context, policy: SandboxExecutionPolicy) {
    super(ctx, 'sandboxPolicy')
    this.policy = policy
  }

  resolve(): SandboxExecutionPolicy {
    return this.policy
  }
}
