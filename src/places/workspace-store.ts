/**
 * The record of remote workspaces, `workspaces.json`, and their marker folders. Owns both; knows no
 * machine and no host. A marker is a real, always empty local folder.
 */
import { mkdirSync, readFileSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Emitter } from '../base/emitter.ts'
import { messageOf, systemCode } from '../base/failure.ts'
import { parseRemotePath } from '../base/remote-path.ts'
import { placeTitle, type Place } from './place.ts'
import { replaceJson } from './json-file.ts'
import type { Mounts } from './mounts.ts'

export interface WorkspaceRecord extends Place {
  readonly title: string
}

interface Content {
  readonly workspaces: readonly WorkspaceRecord[]
  readonly active: Place | undefined
}

const EMPTY: Content = { workspaces: [], active: undefined }

export class WorkspaceStore {
  /** Something in the record is another than before. */
  readonly changed = new Emitter<void>()
  readonly #file: string
  readonly #mounts: Mounts
  readonly #warn: (text: string) => void
  #content: Content

  /** Reads the record and makes the markers again. Never throws: what fails is a warning. */
  constructor(file: string, mounts: Mounts, warn: (text: string) => void) {
    this.#file = file
    this.#mounts = mounts
    this.#warn = warn
    this.#content = this.#load()
    for (const record of this.#content.workspaces) {
      try {
        this.makeMarker(record)
      } catch (error) {
        warn(`the marker of ${placeTitle(record)} cannot be made: ${messageOf(error)}`)
      }
    }
  }

  list(): readonly WorkspaceRecord[] {
    return this.#content.workspaces
  }

  find(place: Place): WorkspaceRecord | undefined {
    return this.#content.workspaces.find((record) => same(record, place))
  }

  /**
   * The current workspace: the default of our tools in sessions that are in none. A person chose it;
   * making a workspace does not, since it would change what local sessions can do.
   */
  get active(): WorkspaceRecord | undefined {
    const { active } = this.#content
    return active === undefined ? undefined : this.find(active)
  }

  /** Add a record (or keep the one that is there) and make its marker. @returns the record. */
  add(place: Place, title: string): WorkspaceRecord {
    const existing = this.find(place)
    this.makeMarker(place)
    if (existing !== undefined) return existing
    const record: WorkspaceRecord = { machine: place.machine, path: place.path, title }
    this.#save({ ...this.#content, workspaces: [...this.#content.workspaces, record] })
    return record
  }

  activate(place: Place): void {
    this.#save({ ...this.#content, active: { machine: place.machine, path: place.path } })
  }

  /** Forget a workspace and remove its empty marker folders. Nothing but empty folders is ever removed. */
  remove(place: Place): void {
    const { workspaces, active } = this.#content
    this.#save({
      workspaces: workspaces.filter((record) => !same(record, place)),
      active: active !== undefined && same(active, place) ? undefined : active,
    })
    this.#removeMarker(place)
  }

  /** @returns the marker's path. @throws the system's error when it cannot be made. */
  makeMarker(place: Place): string {
    const marker = this.#mounts.format(place)
    mkdirSync(marker, { recursive: true })
    return marker
  }

  #removeMarker(place: Place): void {
    const kept = this.#content.workspaces.map((record) => this.#mounts.format(record))
    for (let folder = this.#mounts.format(place); folder !== this.#mounts.root; folder = dirname(folder)) {
      if (!folder.startsWith(this.#mounts.root)) return
      const needed = kept.some((marker) => marker === folder || marker.startsWith(join(folder, '/')))
      if (needed) return
      try {
        if (readdirSync(folder).length > 0) return
        rmdirSync(folder)
      } catch (error) {
        if (systemCode(error) === 'ENOENT') continue
        this.#warn(`the marker folder ${folder} cannot be removed: ${messageOf(error)}`)
        return
      }
    }
  }

  #load(): Content {
    let text: string
    try {
      text = readFileSync(this.#file, 'utf8')
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') this.#warn(`${this.#file}: ${messageOf(error)}`)
      return EMPTY
    }
    try {
      return parseContent(JSON.parse(text))
    } catch (error) {
      // Kept beside, so that nothing a person made is overwritten by the next save.
      const aside = `${this.#file}.unreadable`
      this.#warn(`${this.#file} cannot be read (${messageOf(error)}); it is kept as ${aside}`)
      try {
        renameSync(this.#file, aside)
      } catch (renameError) {
        this.#warn(`${this.#file} cannot be kept: ${messageOf(renameError)}`)
      }
      return EMPTY
    }
  }

  /** Replaced in one step: a crash leaves the old record or the new. */
  #save(content: Content): void {
    const asPlace = (place: Place): { host: string; path: string } => ({
      host: place.machine,
      path: place.path,
    })
    const document = {
      version: 1,
      workspaces: content.workspaces.map((record) => ({ ...asPlace(record), title: record.title })),
      active: content.active === undefined ? null : asPlace(content.active),
    }
    mkdirSync(dirname(this.#file), { recursive: true })
    replaceJson(this.#file, document)
    this.#content = content
    this.changed.emit()
  }
}

function same(a: Place, b: Place): boolean {
  return a.machine === b.machine && a.path === b.path
}

function parseContent(document: unknown): Content {
  if (typeof document !== 'object' || document === null) throw new Error('an object is expected')
  const { workspaces, active } = document as { workspaces?: unknown; active?: unknown }
  if (!Array.isArray(workspaces)) throw new Error('"workspaces" must be a list')
  return {
    workspaces: workspaces.map((item: unknown) => {
      const place = parsePlace(item)
      const title = (item as { title?: unknown }).title
      return { ...place, title: typeof title === 'string' ? title : placeTitle(place) }
    }),
    active: active === null || active === undefined ? undefined : parsePlace(active),
  }
}

function parsePlace(item: unknown): Place {
  const { host, path } = (item ?? {}) as { host?: unknown; path?: unknown }
  if (typeof host !== 'string' || typeof path !== 'string')
    throw new Error('a workspace needs "host" and "path"')
  return { machine: host, path: parseRemotePath(path) }
}
