/**
 * Which machines there are and what their settings mean: the aliases of the user's OpenSSH
 * configuration, and the entries of `machines.yml`. Reads both again when they change; connects to
 * nothing, runs no `Match exec`.
 */
import { readFileSync, statSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { parse } from 'yaml'
import { messageOf, systemCode } from '../base/failure.ts'
import { listAliases } from '../ssh/config/aliases.ts'
import { previewSettings, resolveHop, resolveSettings } from '../ssh/config/resolve.ts'
import type { ConfigSources, MachineSettings } from '../ssh/config/settings.ts'
import { ConnectError } from '../ssh/errors.ts'
import { parseMachineEntry, settingsOfEntry, type MachineEntry } from './machine-entry.ts'

/** Configuration files are looked at for changes at most this often. */
const LOOK_AGAIN_MS = 1000

export interface KnownMachine {
  readonly name: string
  readonly source: 'config' | 'panel'
  /** The person's switch that lets confined commands run unconfined there. */
  readonly unconfined: boolean
}

interface Snapshot {
  readonly machines: ReadonlyMap<string, KnownMachine>
  readonly entries: ReadonlyMap<string, MachineEntry>
  readonly warnings: readonly string[]
  readonly files: readonly string[]
  readonly stamp: string
}

export class Machines {
  readonly #sources: ConfigSources
  readonly #file: string
  #snapshot: Snapshot
  #lookedAt = performance.now()

  /** `file` is `machines.yml`; it may be absent. Never throws: what cannot be read is a warning. */
  constructor(sources: ConfigSources, file: string) {
    this.#sources = sources
    this.#file = file
    this.#snapshot = this.#read()
  }

  isMachine(name: string): boolean {
    return this.get(name) !== undefined
  }

  list(): readonly KnownMachine[] {
    return [...this.#fresh().machines.values()]
  }

  /** A name that is not known is looked for again at once: it may just have been written down. */
  get(name: string): KnownMachine | undefined {
    return this.#fresh().machines.get(name) ?? this.#fresh(true).machines.get(name)
  }

  /** What in the configuration could not be read, for a person. */
  get warnings(): readonly string[] {
    return this.#fresh().warnings
  }

  /** @throws ConnectError `unknown-machine`, `bad-config`, `unsupported`. */
  async settings(name: string, signal: AbortSignal): Promise<MachineSettings> {
    if (!this.isMachine(name)) throw unknownMachine(name)
    const entry = this.#snapshot.entries.get(name)
    if (entry === undefined) return resolveSettings(name, this.#sources, signal)
    const alias = aliasOf(name, entry)
    const base = alias === undefined ? undefined : await resolveSettings(alias, this.#sources, signal)
    return settingsOfEntry(name, entry, base, localUser())
  }

  /**
   * The settings of a jump host, which needs to be no machine of ours.
   * @throws ConnectError `bad-config`, `unsupported`.
   */
  hopSettings(hop: string, signal: AbortSignal): Promise<MachineSettings> {
    return resolveHop(hop, this.#sources, signal)
  }

  /**
   * What the settings are as far as files tell, for showing: nothing is run for it, so what a command of
   * the configuration decides is left out.
   * @throws ConnectError `unknown-machine`, `bad-config`.
   */
  async preview(name: string): Promise<MachineSettings> {
    if (!this.isMachine(name)) throw unknownMachine(name)
    const entry = this.#snapshot.entries.get(name)
    if (entry === undefined) return previewSettings(name, this.#sources)
    const alias = aliasOf(name, entry)
    const base = alias === undefined ? undefined : await previewSettings(alias, this.#sources)
    return settingsOfEntry(name, entry, base, localUser())
  }

  #fresh(atOnce = false): Snapshot {
    const now = performance.now()
    if (!atOnce && now - this.#lookedAt < LOOK_AGAIN_MS) return this.#snapshot
    this.#lookedAt = now
    if (stampOf(this.#snapshot.files) !== this.#snapshot.stamp) this.#snapshot = this.#read()
    return this.#snapshot
  }

  #read(): Snapshot {
    const aliases = listAliases(this.#sources)
    const files = [...aliases.files, this.#file]
    const stamp = stampOf(files)
    const warnings = [...aliases.warnings]
    const entries = readEntries(this.#file, warnings)
    const machines = new Map<string, KnownMachine>()
    for (const name of aliases.aliases) machines.set(name, { name, source: 'config', unconfined: false })
    for (const [name, entry] of entries) {
      const known = machines.get(name)
      machines.set(name, { name, source: known?.source ?? 'panel', unconfined: entry.unconfined })
    }
    return { machines, entries, warnings, files, stamp }
  }
}

/** An entry without an address of its own adds to the alias of the same name. */
function aliasOf(name: string, entry: MachineEntry): string | undefined {
  return entry.alias ?? (entry.host === undefined ? name : undefined)
}

function localUser(): { readonly home: string; readonly user: string } {
  return { home: homedir(), user: userInfo().username }
}

export function unknownMachine(name: string): ConnectError {
  return new ConnectError(
    'no such machine: it is neither an alias of your SSH configuration nor in machines.yml',
    'unknown-machine',
    { machine: name, stage: 'config' },
  )
}

function readEntries(file: string, warnings: string[]): Map<string, MachineEntry> {
  const entries = new Map<string, MachineEntry>()
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') warnings.push(`${file}: ${messageOf(error)}`)
    return entries
  }
  try {
    const document: unknown = parse(text)
    if (document === null || document === undefined) return entries
    if (typeof document !== 'object' || Array.isArray(document))
      throw new Error('a map of machine names is expected')
    for (const [name, value] of Object.entries(document)) {
      const entry = parseMachineEntry(name, value)
      if (typeof entry === 'string') warnings.push(`${file}: ${entry}`)
      else entries.set(name, entry)
    }
  } catch (error) {
    warnings.push(`${file}: ${messageOf(error)}`)
  }
  return entries
}

function stampOf(files: readonly string[]): string {
  return files
    .map((file) => {
      try {
        const { mtimeMs, size, ino } = statSync(file)
        return `${file}:${mtimeMs}:${size}:${ino}`
      } catch (error) {
        return `${file}:${systemCode(error) ?? messageOf(error)}`
      }
    })
    .join('\n')
}
