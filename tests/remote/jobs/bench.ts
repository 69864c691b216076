/** A job on a machine behind a proxy, and all that is heard of it. */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { parseRemotePath, type RemotePath } from '../../../src/base/remote-path.ts'
import type { JobHome } from '../../../src/remote/jobs/home.ts'
import { RemoteJob, type JobLedger } from '../../../src/remote/jobs/remote-job.ts'
import type { Machine } from '../../../src/remote/machine.ts'
import type { Prepare, ProcessRequest } from '../../../src/remote/process/remote-process.ts'
import { commandLines } from '../../support/living.ts'

export interface Heard {
  readonly job: RemoteJob
  /** What came so far. */
  out(): string
  err(): string
  /** What the ledger was told, in order. */
  readonly notes: readonly string[]
  /** Where it is; known once it was asked for. */
  folder(): RemotePath
  /** Where that is, when this one has started it. */
  home(): JobHome
}

export function startJob(
  machine: Machine,
  command: string,
  folder: string,
  change: Partial<ProcessRequest> = {},
  prepare: Prepare = (_session, asked) => asked,
): Heard {
  const request: ProcessRequest = {
    argv: ['bash', '-c', command],
    folder: parseRemotePath(folder),
    env: {},
    input: 'none',
    graceMs: 1000,
    ...change,
  }
  const id = randomBytes(12).toString('hex')
  return hear((ledger) => RemoteJob.start(machine, id, request, prepare, ledger))
}

export function adoptJob(
  machine: Machine,
  { folder, home }: Pick<Heard, 'folder' | 'home'>,
  read: { readonly out: number; readonly err: number },
): Heard {
  const known = { folder: folder(), home: home(), graceMs: 1000, read }
  return hear((ledger) => RemoteJob.adopt(machine, known, ledger), folder())
}

function hear(make: (ledger: JobLedger) => RemoteJob, known?: RemotePath): Heard {
  const notes: string[] = []
  let place = known
  let home: JobHome | undefined
  const job = make({
    placed: (folder, at) => {
      place = folder
      home = at
      notes.push('placed')
    },
    ending: () => notes.push('ending'),
    collected: () => notes.push('collected'),
    removed: () => notes.push('removed'),
  })
  const heard = { out: [] as Buffer[], err: [] as Buffer[] }
  job.stdout.on('data', (chunk: Buffer) => heard.out.push(chunk))
  job.stderr.on('data', (chunk: Buffer) => heard.err.push(chunk))
  return {
    job,
    out: () => Buffer.concat(heard.out).toString(),
    err: () => Buffer.concat(heard.err).toString(),
    notes,
    folder: () => {
      if (place === undefined) throw new Error('the job has no folder yet')
      return place
    },
    home: () => {
      if (home === undefined) throw new Error('the job was not started here')
      return home
    },
  }
}

/** What jobs have left in a temporary folder. */
export function leftIn(tmp: string): string[] {
  return readdirSync(tmp).filter((name) => name.startsWith('presence-job-'))
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 25))
}

/** Live processes with a text in their command line. */
export function living(text: string): number {
  return commandLines().filter((line) => line.includes(text)).length
}
