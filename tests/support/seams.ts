/** The file system seam in a bare Cordis context: the host's own classes, a real machine, no host. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Context, Service } from '@deepseek-ai/cordis'
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import type { SandboxExecutionPolicy, SandboxMode } from '@deepseek-ai/dsh-sandbox'
import type { Presence } from '../../src/core/presence.ts'
import type PresenceFileSystem from '../../src/seams/fs.ts'
import { entryOf, type Login } from './host.ts'
import { startRig, type Rig } from './rig.ts'

export interface SeamRig extends Rig {
  readonly ctx: Context
  readonly fs: FileSystem & PresenceFileSystem
  /** A folder on this computer, outside the temporary area. */
  readonly local: string
  /** The local spelling of a path of the machine. */
  mount(path: string): string
  /** The sandbox mode and root of calls that bring no policy of their own. */
  readonly policy: { mode: SandboxMode; workspaceRoot: string }
}

class FixedPolicy extends Service {
  readonly defaultMode: SandboxMode = 'danger-full-access'
  readonly policy: { mode: SandboxMode; workspaceRoot: string }

  constructor(ctx: Context, policy: { mode: SandboxMode; workspaceRoot: string }) {
    super(ctx, 'sandboxPolicy')
    this.policy = policy
  }

  resolve(): SandboxExecutionPolicy {
    return this.policy
  }
}

/** The provider with the machines that it knows. */
export interface Provider extends Pick<SeamRig, 'ctx' | 'fs' | 'local' | 'policy'> {
  /** From now on a machine counts as far away, and questions to its shell as worth it. */
  takeForFar(machine: string): void
  /** The local spelling of a machine's path. */
  mountOf(machine: string, path: string): string
  stop(): Promise<void>
}

export async function startSeams(): Promise<SeamRig> {
  const rig = await startRig()
  const provider = await startProvider({ demo: rig.server })
  return {
    ...rig,
    ...provider,
    mount: (path) => provider.mountOf('demo', path),
    stop: async () => {
      await provider.stop()
      await rig.stop()
    },
  }
}

/**
 * @param machines - the servers that the provider knows, by the names that it knows them by.
 * @param diffLimit - texts of so many bytes are not given back for a comparison.
 */
export async function startProvider(
  machines: Readonly<Record<string, Login>>,
  diffLimit = 1024 * 1024,
): Promise<Provider> {
  const folder = realpathSync(mkdtempSync('/var/tmp/presence-seams-'))
  const local = join(folder, 'local')
  const home = join(folder, 'dsh')
  // For those tests that act as another account for a while.
  chmodSync(folder, 0o755)
  mkdirSync(local)
  mkdirSync(join(home, 'presence'), { recursive: true })
  const entries = Object.entries(machines).map(([name, server]) => [name, entryOf(server)])
  writeFileSync(join(home, 'presence/machines.yml'), JSON.stringify(Object.fromEntries(entries)))
  process.env['DSH_HOME'] = home
  const { default: Provider } = await import('../../src/seams/fs.ts')
  const ctx = new Context()
  const rows = ctx as unknown as { plugin(row: unknown, config: unknown): { dispose(): Promise<void> } }
  const policy = { mode: 'danger-full-access' as SandboxMode, workspaceRoot: local }
  rows.plugin(FixedPolicy, policy)
  const fiber = rows.plugin(Provider, { cwd: local, diffBasisMaxBytes: diffLimit })
  const fs = await new Promise<FileSystem & PresenceFileSystem>((resolve) => {
    ctx.inject(['fs'], (scope) => resolve(scope.get('fs') as FileSystem & PresenceFileSystem))
  })
  // The seam keeps what it works with to itself; that it is there is all that is relied on.
  const { presence } = fs as unknown as { readonly presence: Presence }
  // However slow this computer is just now: which way is taken must not depend on it.
  for (const machine of Object.keys(machines)) presence.machine(machine).farFromMs = Number.POSITIVE_INFINITY
  return {
    ctx,
    fs,
    local,
    policy,
    takeForFar: (machine) => {
      presence.machine(machine).farFromMs = 0
    },
    mountOf: (machine, path) => join(home, 'presence/mounts', machine, path),
    stop: async () => {
      await fiber.dispose()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
