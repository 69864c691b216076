/**
 * The record of background jobs on machines, one file a job, so that they are found again after a crash. Owns
 * the files; knows no machine and no host. Every job belongs to one process of this computer at a time, and is
 * taken over only from one that has ended. Whose it is stands in the file's name.
 */
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { messageOf, systemCode } from '../base/failure.ts'
import { parseRemotePath, type RemotePath } from '../base/remote-path.ts'
import { replaceJson } from './json-file.ts'

export interface JobRecord {
  /** 24 hexadecimal digits. */
  readonly id: string
  readonly machine: string
  /** Its own folder on the machine. */
  readonly folder: RemotePath
  /** What tells that machine from another one of its name. */
  readonly home: { readonly host: string; readonly hostKey: string }
  /** The session it was started in. */
  readonly session: string
  /** The command as the model gave it. */
  readonly command: string
  /** Where it runs, in the local spelling. */
  readonly cwd: string
  /** The sandbox mode that it runs under; undefined without one. */
  readonly mode: string | undefined
  readonly graceMs: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Bytes of its streams that the model has read. */
  readonly read: { readonly out: number; readonly err: number }
  /** `ending`: it is to be ended. `collected`: what is left of it on the machine is to be removed. */
  readonly state: 'running' | 'ending' | 'collected'
}

/** What a record is called: its job, and the process that it belongs to. */
interface Name {
  readonly file: string
  readonly id: string
  readonly pid: number
  /** Tells a process from an earlier one with its number. */
  readonly token: string
}

/** An owner shows that it lives at least that often, in milliseconds: a process number may be another's by now. */
const BEAT_MS = 20_000
const BEATS_MISSED = 6

export class JobStore {
  readonly #folder: string
  readonly #warn: (text: string) => void
  readonly #token = randomBytes(8).toString('hex')
  readonly #own = new Set<string>()
  #beating: NodeJS.Timeout | undefined

  constructor(folder: string, warn: (text: string) => void) {
    this.#folder = folder
    this.#warn = warn
  }

  /** All jobs that are known, but for those of other processes that live. What cannot be read is a warning and stays. */
  list(): JobRecord[] {
    return this.#names().flatMap((name) => (this.#isOthers(name) ? [] : (this.#read(name.file) ?? [])))
  }

  /**
   * Make a job this process's own. Of several processes that try, one renames the record, and no other finds it
   * under the old owner's name, which never comes again.
   * @returns undefined when it is another's that lives, or gone.
   */
  claim(id: string): JobRecord | undefined {
    if (this.#own.has(id)) return this.#read(this.#nameOf(id))
    const found = this.#names().find((name) => name.id === id)
    if (found === undefined || this.#isOthers(found)) return undefined
    const [from, to] = [join(this.#folder, found.file), join(this.#folder, this.#nameOf(id))]
    try {
      // From its first moment under our name it shows that we live.
      const now = new Date()
      utimesSync(from, now, now)
      renameSync(from, to)
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
    this.#own.add(id)
    this.#beat()
    return this.#read(this.#nameOf(id))
  }

  /** Write a job down as this process's own, in one step. A disk that refuses is a warning. */
  keep(record: JobRecord): void {
    const file = join(this.#folder, this.#nameOf(record.id))
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      if (this.#own.has(record.id) && !existsSync(file)) {
        // Stopped for so long that it passed for ended.
        this.#own.delete(record.id)
        throw new Error('another process has taken it over')
      }
      replaceJson(file, { version: 1, ...record })
    } catch (error) {
      this.#warn(`${file} cannot be written, so its job will not be found again: ${messageOf(error)}`)
      return
    }
    this.#own.add(record.id)
    this.#beat()
  }

  /** There is nothing to know of a job any more. */
  drop(id: string): void {
    this.#own.delete(id)
    rmSync(join(this.#folder, this.#nameOf(id)), { force: true })
    this.#beat()
  }

  /** Leave all jobs to others. */
  close(): void {
    this.#own.clear()
    this.#beat()
  }

  #nameOf(id: string): string {
    return `${id}.${process.pid}.${this.#token}.json`
  }

  #names(): Name[] {
    let files: string[]
    try {
      files = readdirSync(this.#folder)
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') this.#warn(`${this.#folder}: ${messageOf(error)}`)
      return []
    }
    return files.flatMap((file) => {
      const [, id, pid, token, unfinished] =
        /^([0-9a-f]+)\.(\d+)\.([0-9a-f]+)\.json(\.new)?$/.exec(file) ?? []
      if (id === undefined || token === undefined) return []
      const name = { file, id, pid: Number(pid), token }
      if (unfinished === undefined) return [name]
      // A process ended while it was writing.
      if (token !== this.#token && !this.#isOthers(name)) rmSync(join(this.#folder, file), { force: true })
      return []
    })
  }

  #read(file: string): JobRecord | undefined {
    const path = join(this.#folder, file)
    try {
      return parse(JSON.parse(readFileSync(path, 'utf8')))
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') this.#warn(`${path} cannot be read: ${messageOf(error)}`)
      return undefined
    }
  }

  /** Whether it belongs to another process that lives. */
  #isOthers({ file, pid, token }: Name): boolean {
    if (token === this.#token || pid === process.pid) return false
    try {
      process.kill(pid, 0)
    } catch (error) {
      if (systemCode(error) === 'ESRCH') return false
    }
    try {
      return Date.now() - statSync(join(this.#folder, file)).mtimeMs < BEAT_MS * BEATS_MISSED
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return false
      throw error
    }
  }

  #beat(): void {
    if (this.#own.size === 0) {
      clearInterval(this.#beating)
      this.#beating = undefined
      return
    }
    this.#beating ??= setInterval(() => {
      const now = new Date()
      for (const id of this.#own) {
        try {
          utimesSync(join(this.#folder, this.#nameOf(id)), now, now)
        } catch (error) {
          if (systemCode(error) !== 'ENOENT') this.#warn(`${this.#folder}: ${messageOf(error)}`)
        }
      }
    }, BEAT_MS).unref()
  }
}

function parse(document: unknown): JobRecord {
  if (typeof document !== 'object' || document === null) throw new Error('an object is expected')
  const fields = document as Record<string, unknown>
  const text = (name: string, from = fields): string => {
    const value = from[name]
    if (typeof value !== 'string') throw new Error(`"${name}" must be a text`)
    return value
  }
  const number = (name: string, from = fields): number => {
    const value = from[name]
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw new Error(`"${name}" must be a number`)
    }
    return value
  }
  const within = (name: string): Record<string, unknown> => {
    const value = fields[name]
    if (typeof value !== 'object' || value === null) throw new Error(`"${name}" must be an object`)
    return value as Record<string, unknown>
  }
  const state = text('state')
  if (state !== 'running' && state !== 'ending' && state !== 'collected')
    throw new Error('"state" is unknown')
  const [home, read] = [within('home'), within('read')]
  return {
    id: text('id'),
    machine: text('machine'),
    folder: parseRemotePath(text('folder')),
    home: { host: text('host', home), hostKey: text('hostKey', home) },
    session: text('session'),
    command: text('command'),
    cwd: text('cwd'),
    mode: fields['mode'] === undefined ? undefined : text('mode'),
    graceMs: number('graceMs'),
    startedAt: number('startedAt'),
    read: { out: number('out', read), err: number('err', read) },
    state,
  }
}
