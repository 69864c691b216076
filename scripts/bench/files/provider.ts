/**
 * The file system that Presence gives to the host, in a bare Cordis context: the real provider class and
 * all that is below it, without the rest of the host.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context, Service } from '@deepseek-ai/cordis'
import type { SandboxExecutionPolicy, SandboxMode } from '@deepseek-ai/dsh-sandbox'
import type PresenceFileSystem from '../../../src/seams/fs.ts'
import { sharePresence, type Presence } from '../../../src/core/presence.ts'
import { atTheEnd } from '../../project/endings.ts'
import type { BenchServer } from '../server.ts'

export interface Provider {
  readonly fs: PresenceFileSystem
  readonly presence: Presence
  /** The host's home folder. */
  readonly home: string
  /** The local spelling of a path of one of the servers. */
  mount(server: string, path: string): string
  stop(): Promise<void>
}

/** Every measured call brings its own policy, as the host's tools do; this one is for nobody. */
class NoPolicy extends Service {
  readonly defaultMode: SandboxMode = 'read-only'

  constructor(ctx: Context) {
    super(ctx, 'sandboxPolicy')
  }

  resolve(): SandboxExecutionPolicy {
    return { mode: this.defaultMode, workspaceRoot: '/' }
  }
}

/** @param servers - by the names under which the provider knows them. */
export async function startProvider(servers: Readonly<Record<string, BenchServer>>): Promise<Provider> {
  const home = await mkdtemp(join(tmpdir(), 'presence-bench-dsh-'))
  await mkdir(join(home, 'presence'))
  const entries = Object.entries(servers).map(([name, server]) => {
    const { host, port, user, identityFile, knownHostsFile } = server
    return [name, { host, port, user, identityFile, knownHostsFile }]
  })
  await writeFile(join(home, 'presence/machines.yml'), JSON.stringify(Object.fromEntries(entries)))
  // Read once, by the Presence that is made below.
  process.env['DSH_HOME'] = home
  const { default: FileSystem } = await import('../../../src/seams/fs.ts')
  const ctx = new Context()
  const host = ctx as unknown as { plugin(row: unknown, config?: unknown): { dispose(): Promise<void> } }
  host.plugin(NoPolicy)
  let presence: Presence | undefined
  const rows = [
    host.plugin(FileSystem, { cwd: home }),
    host.plugin({ name: 'bench', apply: (scope: Context) => void (presence = sharePresence(scope)) }),
  ]
  const end = async (): Promise<void> => {
    for (const row of rows.splice(0)) await row.dispose()
    await rm(home, { recursive: true, force: true })
  }
  const forget = atTheEnd({ release: end })
  const fs = await new Promise<PresenceFileSystem>((resolve) => {
    ctx.inject(['fs'], (scope) => resolve(scope.get('fs') as unknown as PresenceFileSystem))
  })
  if (presence === undefined) throw new Error('the row of the bench did not start')
  return {
    fs,
    presence,
    home,
    mount: (server, path) => join(home, 'presence/mounts', server, path),
    stop: async () => {
      await end()
      forget()
    },
  }
}
