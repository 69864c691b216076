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
import { forecastSettings, previewSettings, resolveHop, resolveSettings } from '../ssh/config/resolve.ts'
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
  /** What is wrong with its entry in `machines.yml`; nothing can be done there before it is mended. */
  readonly problem?: string
}

interface Snapshot {
  readonly machines: ReadonlyMap<string, KnownMachine>
  readonly entries: ReadonlyMap<string, MachineEntry>
  readonly warnings: readonly string[]
  /** Why `machines.yml` as a whole could not be read. */
  readonly unreadable: string | undefined
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
    this.#requireUsable(name)
    return this.#settingsBy(name, (alias) => resolveSettings(alias, this.#sources, signal))
  }

  /** As `settings` will most likely tell, at once; undefined when that cannot be told. */
  async forecast(name: string): Promise<MachineSettings | undefined> {
    const known = this.get(name)
    if (known === undefined || known.problem !== undefined) return undefined
    return this.#settingsBy(name, (alias) => forecastSettings(alias, this.#sources))
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
    this.#requireUsable(name)
    return this.#settingsBy(name, (alias) => previewSettings(alias, this.#sources))
  }

  /** The error for a name that is no machine, with what may be the reason. */
  unknown(name: string): ConnectError {
    const { unreadable } = this.#fresh()
    const perhaps = unreadable === undefined ? '' : ` (which could not be read: ${unreadable})`
    return new ConnectError(
      `no such machine: it is neither an alias of your SSH configuration nor in machines.yml${perhaps}`,
      'unknown-machine',
      { machine: name, stage: 'config' },
    )
  }

  /** What `resolve` makes of the alias that a machine stands on, with what its own entry says over it. */
  async #settingsBy<T extends MachineSettings | undefined>(
    name: string,
    resolve: (alias: string) => Promise<T>,
  ): Promise<T | MachineSettings> {
    const entry = this.#snapshot.entries.get(name)
    if (entry === undefined) return resolve(name)
    const alias = aliasOf(name, entry)
    if (alias === undefined) return settingsOfEntry(name, entry, undefined, localUser())
    const base = await resolve(alias)
    return base === undefined ? base : settingsOfEntry(name, entry, base, localUser())
  }

  #requireUsable(name: string): void {
    const known = this.get(name)
    if (known === undefined) throw this.unknown(name)
    if (known.problem === undefined) return
    throw new ConnectError(`its entry in ${this.#file} is wrong: ${known.problem}`, 'bad-config', {
      machine: name,
      stage: 'config',
    })
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
    const { entries, problems, unreadable } = readEntries(this.#file)
    for (const problem of problems.values()) warnings.push(`${this.#file}: ${problem}`)
    if (unreadable !== undefined) warnings.push(`${this.#file}: ${unreadable}`)
    const machines = new Map<string, KnownMachine>()
    for (const name of aliases.aliases) machines.set(name, { name, source: 'config', unconfined: false })
    const sourceOf = (name: string): KnownMachine['source'] => machines.get(name)?.source ?? 'panel'
    for (const [name, entry] of entries) {
      machines.set(name, { name, source: sourceOf(name), unconfined: entry.unconfined })
    }
    for (const [name, problem] of problems) {
      machines.set(name, { name, source: sourceOf(name), unconfined: false, problem })
    }
    return { machines, entries, warnings, unreadable, files, stamp }
  }
}

/** An entry without an address of its own adds to the alias of the same name. */
function aliasOf(name: string, entry: MachineEntry): string | undefined {
  return entry.alias ?? (entry.host === undefined ? name : undefined)
}

function localUser(): { readonly home: string; readonly user: string } {
  return { home: homedir(), user: userInfo().username }
}

interface Entries {
  readonly entries: ReadonlyMap<string, MachineEntry>
  /** What is wrong with an entry, by its name. */
  readonly problems: ReadonlyMap<string, string>
  readonly unreadable: string | undefined
}

function readEntries(file: string): Entries {
  const entries = new Map<string, MachineEntry>()
  const problems = new Map<string, string>()
  let document: unknown
  try {
    document = parse(readFileSync(file, 'utf8'))
    if (
      document !== null &&
      document !== undefined &&
      (typeof document !== 'object' || Array.isArray(document))
    )
      throw new Error('a map of machine names is expected')
  } catch (error) {
    const unreadable = systemCode(error) === 'ENOENT' ? undefined : messageOf(error)
    return { entries, problems, unreadable }
  }
  for (const [name, value] of Object.entries(document ?? {})) {
    const entry = parseMachineEntry(name, value)
    if (typeof entry === 'string') problems.set(name, entry)
    else entries.set(name, entry)
  }
  return { entries, problems, unreadable: undefined }
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
