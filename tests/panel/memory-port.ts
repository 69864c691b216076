/**
 * A core made of memory: machines with folders, for tests of the panel and of its page. It keeps the
 * contract of `PanelPort`, and can be told to stall or to fail the next call of a method.
 */
import { once } from 'node:events'
import { CancelledError } from '../../src/base/failure.ts'
import { nameOf, parentOf } from '../../src/base/remote-path.ts'
import type { PanelPort, Place } from '../../src/panel/port.ts'
import { PlaceError } from '../../src/places/errors.ts'
import { ConnectError } from '../../src/ssh/errors.ts'
import type {
  Api,
  DirectoryEntryView,
  MachineFactsView,
  MachineStateView,
  MachineView,
  WorkspaceView,
} from '../../src/wire/api.ts'

export interface Folder {
  readonly [name: string]: Folder | string
}

export interface MemoryMachine {
  readonly name: string
  readonly root: Folder
  readonly source?: 'config' | 'panel'
  readonly facts?: Partial<MachineFactsView>
  /** What connecting to it ends in; without it, it connects. */
  readonly failure?: Error
}

type Method = keyof PanelPort

export class MemoryPort implements PanelPort {
  /** Every call in order, as `method argument`. */
  readonly calls: string[] = []
  /** The most entries a folder's answer holds. */
  entryLimit = 1000
  readonly #machines: readonly MemoryMachine[]
  readonly #states = new Map<string, MachineStateView>()
  readonly #workspaces: WorkspaceView[] = []
  readonly #faults = new Map<Method, unknown>()
  readonly #stalls = new Map<Method, { readonly released: Promise<void>; readonly release: () => void }>()

  constructor(machines: readonly MemoryMachine[]) {
    this.#machines = machines
  }

  /** The next call of `method` throws `fault`. */
  failNext(method: Method, fault: unknown): void {
    this.#faults.set(method, fault)
  }

  /** Calls of `method` wait until the answer is called. */
  stall(method: Method): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#stalls.set(method, { released: promise, release: resolve })
    return () => {
      this.#stalls.delete(method)
      resolve()
    }
  }

  setState(host: string, state: MachineStateView): void {
    this.#states.set(host, state)
  }

  async machines(): Promise<readonly MachineView[]> {
    await this.#begin('machines', '')
    return this.#machines.map((machine) => this.#view(machine))
  }

  async connect(host: string, signal: AbortSignal): Promise<MachineView> {
    const machine = this.#machine(host)
    if (this.#state(host).kind !== 'ready') this.setState(host, { kind: 'connecting', stage: 'auth' })
    await this.#begin('connect', host, signal)
    if (machine.failure !== undefined) {
      const stage = machine.failure instanceof ConnectError ? machine.failure.stage : 'tcp'
      this.setState(host, { kind: 'failed', reason: machine.failure.message, stage, at: Date.now() })
      throw machine.failure
    }
    if (this.#state(host).kind !== 'ready') this.setState(host, { kind: 'ready', since: Date.now() })
    return this.#view(machine)
  }

  async workspaces(): Promise<readonly WorkspaceView[]> {
    await this.#begin('workspaces', '')
    return [...this.#workspaces]
  }

  async createWorkspace(
    place: Place & { readonly title?: string },
    signal: AbortSignal,
  ): Promise<WorkspaceView> {
    await this.#begin('createWorkspace', `${place.host}:${place.path}`, signal)
    const node = this.#node(place)
    if (typeof node === 'string') {
      throw new PlaceError(`${place.path} is a file, not a folder`, 'not-a-directory', {
        machine: place.host,
      })
    }
    const existing = this.#workspaces.find((candidate) => isAt(candidate, place))
    if (existing !== undefined) return existing
    const workspace: WorkspaceView = {
      id: `workspace-${this.#workspaces.length + 1}`,
      host: place.host,
      path: place.path,
      title: place.title ?? `${place.host}:${place.path}`,
      marker: `/home/user/.dsh/presence/mounts/${place.host}${place.path}`,
      active: false,
    }
    this.#workspaces.push(workspace)
    return workspace
  }

  async activate(place: Place): Promise<WorkspaceView> {
    await this.#begin('activate', `${place.host}:${place.path}`)
    this.#indexOf(place)
    for (const [at, workspace] of this.#workspaces.entries()) {
      this.#workspaces[at] = { ...workspace, active: isAt(workspace, place) }
    }
    return this.#workspaces[this.#indexOf(place)] as WorkspaceView
  }

  async removeWorkspace(place: Place): Promise<WorkspaceView> {
    await this.#begin('removeWorkspace', `${place.host}:${place.path}`)
    return this.#workspaces.splice(this.#indexOf(place), 1)[0] as WorkspaceView
  }

  async browse(place: Place, signal: AbortSignal): Promise<Api['GET browse']> {
    await this.#begin('browse', `${place.host}:${place.path}`, signal)
    const node = this.#node(place)
    if (typeof node === 'string') {
      throw new PlaceError(`${place.path} is a file, not a folder`, 'not-a-directory', {
        machine: place.host,
      })
    }
    const entries = Object.entries(node).map(([name, child]): DirectoryEntryView =>
      typeof child === 'string' ? { name, type: 'file', size: child.length } : { name, type: 'directory' },
    )
    return {
      ...place,
      parent: place.path === '/' ? null : parentOf(place.path),
      entries: entries.slice(0, this.entryLimit),
      truncated: entries.length > this.entryLimit,
    }
  }

  async readFile(place: Place, signal: AbortSignal): Promise<Api['GET file']> {
    await this.#begin('readFile', `${place.host}:${place.path}`, signal)
    const node = this.#node(place)
    if (typeof node !== 'string') {
      throw new PlaceError(`${place.path} is a folder, not a file`, 'not-a-file', { machine: place.host })
    }
    return { ...place, size: node.length, text: node, truncated: false }
  }

  async #begin(method: Method, argument: string, signal?: AbortSignal): Promise<void> {
    this.calls.push(argument === '' ? method : `${method} ${argument}`)
    const stall = this.#stalls.get(method)
    if (stall !== undefined) {
      await Promise.race([stall.released, ...(signal === undefined ? [] : [once(signal, 'abort')])])
    }
    if (signal?.aborted === true) {
      this.calls.push(`${method} left`)
      throw new CancelledError(method)
    }
    if (this.#faults.has(method)) {
      const fault = this.#faults.get(method)
      this.#faults.delete(method)
      throw fault
    }
  }

  #machine(host: string): MemoryMachine {
    const machine = this.#machines.find((candidate) => candidate.name === host)
    if (machine === undefined) {
      throw new ConnectError('no such machine is configured', 'unknown-machine', {
        machine: host,
        stage: 'config',
      })
    }
    return machine
  }

  #state(host: string): MachineStateView {
    return this.#states.get(host) ?? { kind: 'idle' }
  }

  #view(machine: MemoryMachine): MachineView {
    const state = this.#state(machine.name)
    const facts: MachineFactsView = {
      address: '192.0.2.10',
      user: 'dev',
      os: 'Linux x86_64',
      home: '/home/dev',
      confinement: 'bwrap',
      search: 'rg',
      sftp: true,
      exec: true,
      warnings: [],
      ...machine.facts,
    }
    const { name, source = 'config' } = machine
    return state.kind === 'ready' ? { name, source, state, facts } : { name, source, state }
  }

  #node({ host, path }: Place): Folder | string {
    const machine = this.#machine(host)
    if (path === '/') return machine.root
    const parent = this.#node({ host, path: parentOf(path) })
    const child = typeof parent === 'string' ? undefined : parent[nameOf(path)]
    if (child === undefined) throw new PlaceError(`${path} does not exist`, 'not-found', { machine: host })
    return child
  }

  #indexOf(place: Place): number {
    const at = this.#workspaces.findIndex((workspace) => isAt(workspace, place))
    if (at < 0)
      throw new PlaceError('There is no such workspace.', 'unknown-workspace', { machine: place.host })
    return at
  }
}

function isAt(workspace: WorkspaceView, place: Place): boolean {
  return workspace.host === place.host && workspace.path === place.path
}

/** Folders `/home/dev/…` and `/srv/…` as a small server has them. */
export function sampleRoot(): Folder {
  return {
    home: { dev: { 'notes.txt': 'remember the milk\n', projects: { site: { 'index.html': '<p>hi</p>' } } } },
    srv: { app: { src: { 'main.c': 'int main(void) { return 0; }\n' }, Makefile: 'all:\n' }, data: {} },
    etc: { hostname: 'web-1\n' },
  }
}
