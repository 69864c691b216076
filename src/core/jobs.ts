/**
 * The background jobs of this host on all machines: which run, what is written down of each, who may go on with
 * those of an earlier host, and what is put right on a machine at the next connection.
 */
import { randomBytes } from 'node:crypto'
import { messageOf } from '../base/failure.ts'
import type { JobRecord, JobStore } from '../places/job-store.ts'
import { endJob, removeJob, statusOfJob } from '../remote/jobs/questions.ts'
import { OtherMachineError } from '../remote/jobs/errors.ts'
import { requireHome } from '../remote/jobs/home.ts'
import { RemoteJob, type JobLedger } from '../remote/jobs/remote-job.ts'
import type { Machine } from '../remote/machine.ts'
import type { Prepare, ProcessRequest } from '../remote/process/remote-process.ts'
import type { MachineSession } from '../remote/session.ts'
import { FORGOTTEN_DAYS } from '../remote/shell/job-scripts.ts'

export type JobOrigin = Pick<JobRecord, 'session' | 'command' | 'cwd' | 'mode'>

/** A job of this host, and how far the model has read it. */
export interface HeldJob {
  readonly job: RemoteJob
  /** Where its output began here, in bytes of the job's own streams. */
  readonly from: JobRecord['read']
  /** The model has read so many bytes of what came here. */
  reads(out: number, err: number): void
  /** The model has read all of it, and knows its end. */
  collect(): void
}

export interface ListedJob {
  readonly session: string
  readonly command: string
  /** As the host's job tools know it. */
  readonly name: string
}

export interface UnfollowedJob {
  readonly command: string
  readonly reason: string
}

const FORGOTTEN_MS = FORGOTTEN_DAYS * 24 * 3600 * 1000

export class Jobs {
  readonly #store: JobStore
  readonly #warn: (text: string) => void
  /** Jobs that somebody in this host holds. */
  readonly #held = new Map<string, { readonly entry: Entry; readonly job: RemoteJob }>()
  readonly #listed: ListedJob[] = []

  constructor(store: JobStore, warn: (text: string) => void) {
    this.#store = store
    this.#warn = warn
  }

  start(machine: Machine, origin: JobOrigin, request: ProcessRequest, prepare: Prepare): HeldJob {
    const id = randomBytes(12).toString('hex')
    const entry: Entry = { record: undefined }
    const ledger = this.#ledger(id, entry, (folder, home) => ({
      ...origin,
      id,
      machine: machine.name,
      folder,
      home,
      graceMs: request.graceMs,
      startedAt: Date.now(),
      read: { out: 0, err: 0 },
      state: 'running',
    }))
    return this.#hold(id, entry, RemoteJob.start(machine, id, request, prepare, ledger), { out: 0, err: 0 })
  }

  /** Jobs of a session that no living host holds, in the order in which they were started. */
  adoptable(session: string): JobRecord[] {
    return this.#store
      .list()
      .filter((job) => job.session === session && job.state === 'running' && !this.#held.has(job.id))
      .toSorted((a, b) => a.startedAt - b.startedAt)
  }

  /** Make a job of an earlier host this one's. @returns false when another host was faster. */
  claim(id: string): boolean {
    return this.#store.claim(id)?.state === 'running'
  }

  /** Go on with a job. @returns undefined when it is another host's. */
  adopt(machine: Machine, id: string): HeldJob | undefined {
    const record = this.#store.claim(id)
    if (record === undefined || record.state !== 'running') return undefined
    const entry: Entry = { record }
    const ledger = this.#ledger(id, entry, () => record)
    return this.#hold(id, entry, RemoteJob.adopt(machine, record, ledger), record.read)
  }

  /** A job that was gone on with is in the host's list under this name. */
  listed(job: JobRecord, name: string): void {
    this.#listed.push({ session: job.session, command: job.command, name })
  }

  /** The jobs that a session was given back in this host. */
  foundAgain(session: string): readonly ListedJob[] {
    return this.#listed.filter((job) => job.session === session)
  }

  /** Jobs of a session that are not followed now, and will not be before somebody connects. */
  unfollowed(session: string): readonly UnfollowedJob[] {
    return [...this.#held.values()].flatMap(({ entry: { record }, job: { obstacle } }) =>
      record?.session === session && obstacle !== undefined
        ? [{ command: record.command, reason: obstacle }]
        : [],
    )
  }

  /** From now on each connection to a machine puts right what hosts had to leave there. */
  attend(machine: Machine): void {
    machine.connection.changes.on(({ kind }) => {
      if (kind !== 'ready') return
      const due = this.#due(machine.name)
      if (due.length === 0) return
      machine
        .sessionIfConnected()
        .then(async (session) => {
          if (session !== undefined) for (const job of due) await this.#putRight(session, job)
        })
        // The next connection tries again.
        .catch((error: unknown) => this.#warn(`background jobs on ${machine.name}: ${messageOf(error)}`))
    })
  }

  close(): void {
    this.#store.close()
  }

  #due(machine: string): JobRecord[] {
    const forgotten = Date.now() - FORGOTTEN_MS
    return this.#store
      .list()
      .filter((job) => job.machine === machine && !this.#held.has(job.id))
      .filter((job) => job.state !== 'running' || job.startedAt < forgotten)
  }

  async #putRight(session: MachineSession, { id, state, folder, home }: JobRecord): Promise<void> {
    try {
      await requireHome(session, folder, home)
    } catch (error) {
      // It waits for its own machine.
      if (error instanceof OtherMachineError) return
      throw error
    }
    if (this.#held.has(id)) return
    const job = this.#store.claim(id)
    if (job === undefined || job.state !== state) return
    if (state === 'ending') await endJob(session, job.folder, job.graceMs)
    if (state === 'running') {
      const status = await statusOfJob(session, job.folder)
      if (status.kind === 'there' && status.alive) return
    }
    if (await removeJob(session, job.folder)) this.#store.drop(id)
  }

  #hold(id: string, entry: Entry, job: RemoteJob, from: JobRecord['read']): HeldJob {
    this.#held.set(id, { entry, job })
    const release = (): void => void this.#held.delete(id)
    // One that was ended, or left to the next connection, is nobody's now; any other stays until it is collected.
    job.done.then(() => {
      if (entry.record?.state !== 'running') release()
    }, release)
    return {
      job,
      from,
      reads: (out, err) => {
        const { record } = entry
        if (record?.state !== 'running') return
        const read = { out: from.out + out, err: from.err + err }
        if (read.out === record.read.out && read.err === record.read.err) return
        entry.record = { ...record, read }
        this.#store.keep(entry.record)
      },
      collect: () => {
        release()
        void job.discard()
      },
    }
  }

  #ledger(
    id: string,
    entry: Entry,
    made: (folder: JobRecord['folder'], home: JobRecord['home']) => JobRecord,
  ): JobLedger {
    const change = (state: JobRecord['state']): void => {
      if (entry.record === undefined || entry.record.state === state) return
      entry.record = { ...entry.record, state }
      this.#store.keep(entry.record)
    }
    return {
      placed: (folder, home) => {
        entry.record = made(folder, home)
        this.#store.keep(entry.record)
      },
      ending: () => change('ending'),
      collected: () => change('collected'),
      removed: () => {
        entry.record = undefined
        this.#store.drop(id)
        this.#held.delete(id)
      },
    }
  }
}

interface Entry {
  /** As it is written down; undefined before, and after it was dropped. */
  record: JobRecord | undefined
}
