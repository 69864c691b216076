/**
 * How long a person waits for `@` references in a project of 20,000 files, by a machine's index of names:
 * when it is made, when it is there, and just after something has changed.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WorkspaceFileSearch } from '@deepseek-ai/dsh-file-reference-local'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { RemoteFiles } from '../../src/remote/files/remote-files.ts'
import { Machine } from '../../src/remote/machine.ts'
import { ReferenceIndex } from '../../src/remote/search/reference-index.ts'
import { BedUnavailable } from '../bed/bed.ts'
import type { Bench, Findings, Goal } from './bench.ts'
import { ourPool } from './clients.ts'
import { delayed, LOOPBACK, loopback, visit, type Place } from './places.ts'
import { inTurn, timed, type Subject } from './rounds.ts'
import type { BenchServer } from './server.ts'
import { makeProject } from './tools/project.ts'

const RTT_MS = 50
const FAR = `${RTT_MS} ms`
const ROUND_TRIP = 'one TCP round trip'
const FILES_ONLY = ', SFTP alone'

/** As the host has them, but for the size: the whole project is to be in the index. */
const LIMITS = { maxResults: 20, maxEntries: 50_000, excluded: ['.git', 'node_modules'] }

const FIRST = 'the first name'
const NAME = 'a name'
const CHANGED = 'a name just after a change'
const FOLDER = 'a name in a folder'

/** 300 ms for who types, 6 s for an index that is made folder by folder. */
const WARM_TRIPS = 6
const BOUNDS: Readonly<Record<string, number>> = {
  [FIRST]: WARM_TRIPS,
  [NAME]: WARM_TRIPS,
  [CHANGED]: WARM_TRIPS,
  [FOLDER]: WARM_TRIPS,
  [FIRST + FILES_ONLY]: 120,
  [NAME + FILES_ONLY]: WARM_TRIPS,
  [CHANGED + FILES_ONLY]: WARM_TRIPS,
  [FOLDER + FILES_ONLY]: WARM_TRIPS,
}

const goalName = (what: string): string => `${what}, at ${FAR}`
const GOALS: readonly Goal[] = Object.entries(BOUNDS).map(([what, goal]) => ({
  name: goalName(what),
  unit: 'round trips',
  bound: 'at most',
  goal,
}))

export const references: Bench = {
  name: 'references',
  about: `names for @ in a project of 20,000 files, on ${LOOPBACK} and at ${FAR}`,
  goals: GOALS,
  rounds: 5,
  run: async (findings, { rounds }) => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'presence-bench-')))
    try {
      const project = join(folder, 'project')
      findings.progress('making the project …')
      await makeProject(project)
      for (const start of [loopback, () => delayed(RTT_MS)]) {
        await visit(start, findings, (place) => measure(place, project, findings, rounds))
      }
    } catch (failure) {
      if (!(failure instanceof BedUnavailable)) throw failure
      findings.notMeasured(
        GOALS.map(({ name }) => name),
        failure.message,
      )
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

async function measure(place: Place, project: string, findings: Findings, rounds: number): Promise<void> {
  const undo: (() => Promise<void>)[] = []
  try {
    const subjects: Subject<string>[] = [{ name: ROUND_TRIP, measure: () => place.roundTrip() }]
    for (const [server, suffix] of [
      [place.server, ''],
      [await place.another({ filesOnly: true }), FILES_ONLY],
    ] as const) {
      const user = new Typing(server, project)
      undo.push(() => user.stop())
      await user.connect()
      subjects.push(...user.subjects(suffix))
    }
    tell(place, await inTurn(subjects, rounds), findings)
  } finally {
    for (const step of undo.toReversed()) await step()
  }
}

function tell({ label }: Place, medians: Readonly<Record<string, number>>, findings: Findings): void {
  const trip = medians[ROUND_TRIP] ?? Number.NaN
  for (const [what, ms] of Object.entries(medians)) {
    const isLine = what === ROUND_TRIP
    const roundTrips = isLine || label !== FAR ? null : ms / trip
    findings.row({ place: label, what, who: isLine ? 'the line' : 'ours', ms, roundTrips })
    if (roundTrips !== null) findings.figure(goalName(what), roundTrips)
  }
}

/** Somebody who types names on one machine. */
class Typing {
  readonly #machine: Machine
  readonly #files: RemoteFiles
  readonly #project: string
  readonly #close: () => void
  /** The host's own for the same folder, which is on this computer. */
  readonly #theirs: WorkspaceFileSearch
  #index: ReferenceIndex | undefined

  constructor(server: BenchServer, project: string) {
    const pool = ourPool(server)
    this.#machine = new Machine(pool.connection(server.alias))
    this.#files = new RemoteFiles(this.#machine)
    this.#project = project
    this.#theirs = new WorkspaceFileSearch(project, { ...LIMITS, excludedDirectories: LIMITS.excluded })
    this.#close = () => pool.close()
  }

  async connect(): Promise<void> {
    await (await this.#machine.session()).sftp()
  }

  subjects(suffix: string): Subject<string>[] {
    return [
      { name: FIRST + suffix, measure: () => this.#asked('file-19999', () => this.#begin()) },
      { name: NAME + suffix, measure: () => this.#asked('part-77') },
      { name: CHANGED + suffix, measure: () => this.#asked('csv', () => this.#index?.invalidate()) },
      { name: FOLDER + suffix, measure: () => this.#asked('parts/part-77/file-77') },
    ]
  }

  stop(): Promise<void> {
    this.#index?.close()
    this.#close()
    return Promise.resolve()
  }

  #begin(): void {
    this.#index?.close()
    const limits = { ...LIMITS, excluded: new Set(LIMITS.excluded) }
    this.#index = new ReferenceIndex(this.#machine, this.#files, parseRemotePath(this.#project), limits)
  }

  /** @throws Error when the answer is another one than the host's. */
  async #asked(query: string, before?: () => void): Promise<number> {
    const { signal } = new AbortController()
    before?.()
    let found: unknown
    const ms = await timed(async () => {
      found = await this.#index?.query(query, signal)
    })
    const wanted = await this.#theirs.list(query, signal)
    if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`wrong names for "${query}"`)
    return ms
  }
}
