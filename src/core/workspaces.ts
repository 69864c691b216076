/**
 * Remote workspaces as a whole: the folder on the machine, the marker, our record, and the host's
 * registry where it has one. Creating verifies the folder before anything appears anywhere.
 */
import { basename } from 'node:path'
import type { Place } from '../places/place.ts'
import { placeTitle } from '../places/place.ts'
import { PlaceError } from '../places/errors.ts'
import type { WorkspaceRecord } from '../places/workspace-store.ts'
import { SEAMS, type Presence } from './presence.ts'

export interface HostWorkspace {
  readonly id: string
  readonly path: string
  readonly title: string
  setTitle(title: string): Promise<unknown>
}

/** The host's registry, by the methods we use; its web profile has one. */
export interface HostRegistry {
  create(path: string, title?: string): Promise<HostWorkspace>
  list(): readonly HostWorkspace[]
  delete(id: string): Promise<unknown>
}

export class WorkspaceService {
  readonly #presence: Presence
  readonly #registry: () => HostRegistry | undefined

  constructor(presence: Presence, registry: () => HostRegistry | undefined) {
    this.#presence = presence
    this.#registry = registry
  }

  /**
   * Make a workspace of a folder, or return the one that is there. The host hears of it only where its
   * sessions would work on the machine; elsewhere it serves our own tools alone.
   * @throws PlaceError `not-found`, `not-a-directory`; ConnectError; LinkLostError.
   */
  async create(place: Place, title: string | undefined, signal: AbortSignal): Promise<WorkspaceRecord> {
    const files = this.#presence.files(place.machine)
    const path = await files.canonical(place.path, { signal })
    const stat = await files.stat({ path, shown: path }, { signal })
    if (stat === undefined) {
      throw new PlaceError(`the folder ${place.path} does not exist there`, 'not-found', {
        machine: place.machine,
      })
    }
    if (stat.type !== 'directory') {
      throw new PlaceError(`${place.path} is not a folder`, 'not-a-directory', { machine: place.machine })
    }
    const canonical: Place = { machine: place.machine, path }
    const known = this.#presence.workspaces.find(canonical) !== undefined
    const record = this.#presence.workspaces.add(canonical, title ?? placeTitle(canonical))
    try {
      await this.#register(record)
    } catch (error) {
      if (!known) this.#presence.workspaces.remove(canonical)
      throw error
    }
    return record
  }

  async #register(record: WorkspaceRecord): Promise<void> {
    // Without the seams a session in the marker would work on this computer.
    if (SEAMS.some((seam) => !this.#presence.seams.has(seam))) return
    const marker = this.#presence.mounts.format(record)
    const workspace = await this.#registry()?.create(marker, record.title)
    // A folder that the host knew already, e.g. from a session in it, bears a name that hides the machine.
    if (workspace !== undefined && workspace.title === basename(marker))
      await workspace.setTitle(record.title)
  }

  activate(place: Place): WorkspaceRecord {
    const record = this.require(place)
    this.#presence.workspaces.activate(record)
    return record
  }

  /** @throws PlaceError `unknown-workspace`. */
  require(place: Place): WorkspaceRecord {
    const record = this.#presence.workspaces.find(place)
    if (record === undefined) {
      throw new PlaceError(`there is no workspace ${placeTitle(place)}`, 'unknown-workspace', {
        machine: place.machine,
      })
    }
    return record
  }

  /** Forget a workspace here and in the host; nothing on the machine is touched. */
  async remove(place: Place): Promise<void> {
    const registry = this.#registry()
    const id = this.idOf(place)
    if (registry !== undefined && id !== undefined) await registry.delete(id)
    this.#presence.workspaces.remove(place)
  }

  /** The host's id of a workspace, where it has one. */
  idOf(place: Place): string | undefined {
    const marker = this.#presence.mounts.format(place)
    return this.#registry()
      ?.list()
      .find((workspace) => workspace.path === marker)?.id
  }
}
