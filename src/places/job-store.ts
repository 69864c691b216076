/**
 * The record of background jobs on machines, one file a job, so that they are found again after a crash. Owns
 * the files; knows no machine and no host. Every job belongs to one process of this computer at a time, and is
 * taken over only from one that has ended.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
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

interface Owner {
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
  readonly #self: Owner = { pid: process.pid, token: randomBytes(8).toString('hex') }
  readonly #own = new Set<string>()
  #beating: NodeJS.Timeout | undefined

  constructor(folder: string, warn: (text: string) => void) {
    this.#folder = folder
    this.#warn = warn
  }

  /** All jobs that are known, whoever's they are. What cannot be read is a warning and stays. */
  list(): JobRecord[] {
    return this.#names().flatMap((name) => this.#read(name)?.record ?? [])
  }

  /** Make a job this process's own. @returns undefined when it is another's that lives, or gone. */
  claim(id: string): JobRecord | undefined {
    if (this.#own.has(id)) return this.#read(`${id}.json`)?.record
    const found = this.#read(`${id}.json`)
    if (found === undefined || this.#lives(found.owner, `${id}.json`)) return undefined
    const claim = `${id}.${this.#self.pid}.${this.#self.token}.claim`
    try {
      // Of several processes that try, only one finds the file.
      renameSync(join(this.#folder, `${id}.json`), join(this.#folder, claim))
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
    this.keep(found.record)
    rmSync(join(this.#folder, claim), { force: true })
    return found.record
  }

  /** Write a job down as this process's own, in one step. A disk that refuses is a warning. */
  keep(record: JobRecord): void {
    const file = join(this.#folder, `${record.id}.json`)
    const document = { version: 1, owner: this.#self, ...record }
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      replaceJson(file, document)
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
    rmSync(join(this.#folder, `${id}.json`), { force: true })
    this.#beat()
  }

  /** Leave all jobs to others. */
  close(): void {
    this.#own.clear()
    this.#beat()
  }

  #names(): string[] {
    let names: string[]
    try {
      names = readdirSync(this.#folder)
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') this.#warn(`${this.#folder}: ${messageOf(error)}`)
      return []
    }
    for (const name of names.filter((each) => each.endsWith('.claim'))) this.#mend(name)
    return names.flatMap((name) => {
      if (name.endsWith('.json')) return [name]
      const [id, , , end] = name.split('.')
      return end === 'claim' && !names.includes(`${id}.json`) ? [`${id}.json`] : []
    })
  }

  /** A process ended while it was taking a job over. */
  #mend(name: string): void {
    const [id = '', pid, token = ''] = name.split('.')
    if (this.#lives({ pid: Number(pid), token }, name)) return
    try {
      if (this.#read(`${id}.json`) === undefined) {
        renameSync(join(this.#folder, name), join(this.#folder, `${id}.json`))
      } else rmSync(join(this.#folder, name), { force: true })
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
    }
  }

  #read(name: string): { readonly owner: Owner; readonly record: JobRecord } | undefined {
    const file = join(this.#folder, name)
    try {
      return parse(JSON.parse(readFileSync(file, 'utf8')))
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') this.#warn(`${file} cannot be read: ${messageOf(error)}`)
      return undefined
    }
  }

  #lives({ pid, token }: Owner, name: string): boolean {
    if (token === this.#self.token) return true
    if (pid === this.#self.pid) return false
    try {
      process.kill(pid, 0)
    } catch (error) {
      if (systemCode(error) === 'ESRCH') return false
    }
    try {
      return Date.now() - statSync(join(this.#folder, name)).mtimeMs < BEAT_MS * BEATS_MISSED
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
          utimesSync(join(this.#folder, `${id}.json`), now, now)
        } catch (error) {
          if (systemCode(error) !== 'ENOENT') this.#warn(`${this.#folder}: ${messageOf(error)}`)
        }
      }
    }, BEAT_MS).unref()
  }
}

function parse(document: unknown): { readonly owner: Owner; readonly record: JobRecord } {
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
  const [owner, read] = [within('owner'), within('read')]
  return {
    owner: { pid: number('pid', owner), token: text('token', owner) },
    record: {
      id: text('id'),
      machine: text('machine'),
      folder: parseRemotePath(text('folder')),
      session: text('session'),
      command: text('command'),
      cwd: text('cwd'),
      mode: fields['mode'] === undefined ? undefined : text('mode'),
      graceMs: number('graceMs'),
      startedAt: number('startedAt'),
      read: { out: number('out', read), err: number('err', read) },
      state,
    },
  }
}
