/**
 * The heart of Presence: one object a host process that owns machines, connections, mounts and
 * workspaces. Every row of the bundle shares it; the last one to unload closes it.
 *
 * It can be built without a network, a readable configuration or a writable home: what is missing is a
 * warning now and a clear error at use, never a host without a file system.
 */
import { mkdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Context } from '@deepseek-ai/cordis'
import { messageOf } from '../base/failure.ts'
import { isLocalPlace, localPlaces, type LocalPlaces } from '../places/local-places.ts'
import { presenceHome, type PresenceHome } from '../places/home.ts'
import { JobStore } from '../places/job-store.ts'
import { Mounts } from '../places/mounts.ts'
import { WorkspaceStore } from '../places/workspace-store.ts'
import { RemoteFiles } from '../remote/files/remote-files.ts'
import { Machine } from '../remote/machine.ts'
import { Secrets } from '../ssh/auth/secrets.ts'
import { defaultSources } from '../ssh/config/sources.ts'
import { ConnectionPool } from '../ssh/connection/pool.ts'
import { NOBODY } from '../ssh/questions.ts'
import { followSessions } from './current-session.ts'
import { Jobs } from './jobs.ts'
import { Machines } from './machines.ts'

/** The services of the host that have to be ours before a session on a machine acts on that machine. */
export const SEAMS = ['fs', 'subprocess', 'sandbox'] as const

export type Seam = (typeof SEAMS)[number]

export class Presence {
  readonly home: PresenceHome
  readonly machines: Machines
  readonly mounts: Mounts
  readonly workspaces: WorkspaceStore
  /** Background jobs on machines. */
  readonly jobs: Jobs
  readonly warnings: string[] = []
  /** The seams that are loaded now; in tools-only mode none. */
  readonly seams = new Set<Seam>()
  readonly #localPlaces: LocalPlaces
  readonly #pool: ConnectionPool
  readonly #open = new Map<string, { readonly machine: Machine; readonly files: RemoteFiles }>()

  constructor(env: NodeJS.ProcessEnv = process.env, platform: NodeJS.Platform = process.platform) {
    const warn = (text: string): void => void this.warnings.push(text)
    this.home = presenceHome(env)
    this.machines = new Machines(defaultSources({ env, platform }), this.home.machinesFile)
    this.mounts = new Mounts({
      root: this.home.mounts,
      realRoot: makeRoot(this.home.mounts, warn),
      platform,
      isMachine: (name) => this.machines.isMachine(name),
    })
    this.workspaces = new WorkspaceStore(this.home.workspacesFile, this.mounts, warn)
    this.jobs = new Jobs(new JobStore(this.home.jobs, warn), warn)
    this.#localPlaces = localPlaces(this.home.dshHome, this.home.mounts, env, homedir())
    this.#pool = new ConnectionPool({
      settings: (machine, signal) => this.machines.settings(machine, signal),
      forecast: (machine) => this.machines.forecast(machine),
      hopSettings: (hop, signal) => this.machines.hopSettings(hop, signal),
      questions: NOBODY,
      secrets: new Secrets(),
      env,
      platform,
    })
  }

  /** True for absolute paths that are the host's own and stay local in every session. */
  isLocalPlace(path: string): boolean {
    return isLocalPlace(path, this.#localPlaces)
  }

  /** A known machine; connects to nothing. @throws ConnectError `unknown-machine`. */
  machine(name: string): Machine {
    return this.#opened(name).machine
  }

  files(name: string): RemoteFiles {
    return this.#opened(name).files
  }

  close(): void {
    this.jobs.close()
    this.#pool.close()
  }

  #opened(name: string): { readonly machine: Machine; readonly files: RemoteFiles } {
    if (!this.machines.isMachine(name)) throw this.machines.unknown(name)
    const existing = this.#open.get(name)
    if (existing !== undefined) return existing
    const machine = new Machine(this.#pool.connection(name))
    this.jobs.attend(machine)
    const made = { machine, files: new RemoteFiles(machine) }
    this.#open.set(name, made)
    return made
  }
}

/** The mounts folder as the host's realpath spells it. */
function makeRoot(mounts: string, warn: (text: string) => void): string {
  try {
    mkdirSync(mounts, { recursive: true })
    return realpathSync(mounts)
  } catch (error) {
    warn(`${mounts} cannot be made: ${messageOf(error)}`)
    return mounts
  }
}

interface Shared {
  readonly presence: Presence
  users: number
}

const shared = new WeakMap<object, Shared>()

/**
 * The Presence of this host process, made by the first row that asks and closed with the last one.
 * The rows may activate in any order, so none of them can own it alone.
 * @param seam - the service of the host that the asking row replaces, if it does.
 */
export function sharePresence(ctx: Context, seam?: Seam): Presence {
  const root = ctx.root
  const existing = shared.get(root)
  const entry = existing ?? { presence: new Presence(), users: 0 }
  if (existing === undefined) shared.set(root, entry)
  ctx.effect(() => {
    entry.users += 1
    if (seam !== undefined) entry.presence.seams.add(seam)
    return () => {
      entry.users -= 1
      if (seam !== undefined) entry.presence.seams.delete(seam)
      if (entry.users > 0) return
      shared.delete(root)
      entry.presence.close()
    }
  }, 'presence: shared by this row')
  // Each row follows for itself: the one that asked first may be the first to go.
  followSessions(ctx)
  if (existing === undefined)
    for (const warning of entry.presence.warnings) ctx.logger.warn(`presence: ${warning}`)
  return entry.presence
}
