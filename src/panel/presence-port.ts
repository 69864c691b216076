/** The panel's port on the real core: machines, workspaces and files as JSON views. */
import { parentOf, type RemotePath } from '../base/remote-path.ts'
import type { KnownMachine } from '../core/machines.ts'
import type { Presence } from '../core/presence.ts'
import type { WorkspaceService } from '../core/workspaces.ts'
import { PlaceError } from '../places/errors.ts'
import { confinementOf } from '../remote/confine.ts'
import { FileError } from '../remote/files/errors.ts'
import type { ConnectionState } from '../ssh/connection/machine-connection.ts'
import type { Api, MachineFactsView, MachineStateView, MachineView, WorkspaceView } from '../wire/api.ts'
import type { PanelPort, Place } from './port.ts'

const MOST_ENTRIES = 2000
const MOST_BYTES = 512 * 1024

export function panelPortOf(presence: Presence, workspaces: WorkspaceService): PanelPort {
  const view = (record: { machine: string; path: RemotePath; title: string }): WorkspaceView => {
    const place = { machine: record.machine, path: record.path }
    const id = workspaces.idOf(place)
    const { active } = presence.workspaces
    return {
      ...(id === undefined ? {} : { id }),
      host: record.machine,
      path: record.path,
      title: record.title,
      marker: presence.mounts.format(place),
      active: active?.machine === record.machine && active.path === record.path,
    }
  }
  return {
    machines: async () => presence.machines.list().map((known) => machineView(presence, known)),
    connect: async (host, signal) => {
      await presence.machine(host).session(signal)
      const known = presence.machines.get(host)
      return machineView(presence, known ?? { name: host, source: 'config', unconfined: false })
    },
    workspaces: async () => presence.workspaces.list().map(view),
    createWorkspace: async ({ host, path, title }, signal) =>
      view(await workspaces.create({ machine: host, path }, title, signal)),
    activate: async (place) => view(workspaces.activate({ machine: place.host, path: place.path })),
    removeWorkspace: async (place) => {
      const record = workspaces.require({ machine: place.host, path: place.path })
      const removed = view(record)
      await workspaces.remove(record)
      return removed
    },
    browse: (place, signal) => inPlaceTerms(place, () => browse(presence, place, signal)),
    readFile: (place, signal) => inPlaceTerms(place, () => readFile(presence, place, signal)),
  }
}

async function browse(presence: Presence, place: Place, signal: AbortSignal): Promise<Api['GET browse']> {
  const files = presence.files(place.host)
  const path = await files.canonical(place.path, { signal })
  const entries = await files.list({ path, shown: path }, { signal })
  return {
    host: place.host,
    path,
    parent: path === '/' ? null : parentOf(path),
    entries: entries.slice(0, MOST_ENTRIES).map((entry) => ({
      name: entry.name,
      type: entry.type,
      ...(entry.type === 'file' ? { size: entry.size } : {}),
    })),
    truncated: entries.length > MOST_ENTRIES,
  }
}

async function readFile(presence: Presence, place: Place, signal: AbortSignal): Promise<Api['GET file']> {
  const files = presence.files(place.host)
  const file = { path: await files.canonical(place.path, { signal }), shown: place.path }
  const stat = await files.stat(file, { signal })
  const bytes = await files.readRange(file, 0, MOST_BYTES, { signal })
  const size = Math.max(stat?.size ?? 0, bytes.length)
  return {
    host: place.host,
    path: place.path,
    size,
    text: textOf(bytes, size),
    truncated: size > bytes.length,
  }
}

/** Text, or null; a character that the limit cut in two does not make a file binary. */
function textOf(bytes: Buffer, size: number): string | null {
  if (bytes.includes(0)) return null
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    return decoder.decode(bytes, { stream: size > bytes.length })
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

function machineView(presence: Presence, known: KnownMachine): MachineView {
  const machine = presence.machine(known.name)
  const session = machine.current
  const facts: MachineFactsView | undefined =
    session === undefined
      ? undefined
      : {
          address: session.link.facts.address,
          user: session.link.facts.settings.user,
          os: session.shell?.os ?? 'unknown',
          home: session.shell?.home ?? '/',
          confinement: confinementOf(session.shell, known.unconfined),
          search: session.searchEngine,
          sftp: session.sftpAvailable,
          exec: session.shell !== undefined,
          warnings: [...session.link.facts.warnings, ...session.capabilities.warnings],
        }
  return {
    name: known.name,
    source: known.source,
    state: stateView(machine.connection.state),
    ...(known.problem === undefined ? {} : { problem: known.problem }),
    ...(facts === undefined ? {} : { facts }),
  }
}

function stateView(state: ConnectionState): MachineStateView {
  switch (state.kind) {
    case 'idle':
      return { kind: 'idle' }
    case 'connecting':
      return { kind: 'connecting', stage: state.stage, ...hopOf(state) }
    case 'asking':
      return { kind: 'asking', question: state.question, stage: state.stage, ...hopOf(state) }
    case 'ready':
      return { kind: 'ready', since: state.since.getTime() }
    case 'degraded':
      return { kind: 'degraded', since: state.since.getTime(), silentSince: state.silentSince.getTime() }
    case 'lost':
      return { kind: 'lost', reason: state.reason, at: state.at.getTime() }
    case 'failed':
      return { kind: 'failed', reason: state.reason, stage: state.stage, at: state.at.getTime() }
  }
}

function hopOf({ hop }: { readonly hop: string | undefined }): { readonly hop?: string } {
  return hop === undefined ? {} : { hop }
}

async function inPlaceTerms<T>(place: Place, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    const details = { machine: place.host, cause: error }
    switch (error.code) {
      case 'not-found':
        throw new PlaceError(error.message, 'not-found', details)
      case 'not-directory':
        throw new PlaceError(error.message, 'not-a-directory', details)
      case 'not-regular':
        throw new PlaceError(error.message, 'not-a-file', details)
      case 'bad-name':
        throw new PlaceError(error.message, 'bad-path', details)
      case 'permission-denied':
        throw new PlaceError(error.message, 'permission-denied', details)
      default:
        throw error
    }
  }
}
