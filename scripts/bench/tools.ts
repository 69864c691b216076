/**
 * How long the agent waits for a tool in a folder on a machine, beside the same tool in a local folder:
 * from the model's call to its next request with the result, through a real host.
 */
import { BedUnavailable } from '../bed/bed.ts'
import type { Bench, Findings, Goal } from './bench.ts'
import { delayed, loopback, LOOPBACK, type Place } from './places.ts'
import { inTurn, type Subject } from './rounds.ts'
import { CASES } from './tools/cases.ts'
import { LOCAL, startToolHost } from './tools/host.ts'
import { at, freshSubjects, FRESH_PROCESS, NEW_SESSION, toolSubjects } from './tools/subjects.ts'
import { startTimedModel } from './tools/turn.ts'

const RTT_MS = 50
const FAR = `${RTT_MS} ms`
const ROUND_TRIP = 'one TCP round trip'

/** How many round trips more than in the local folder a tool may take at `FAR`. */
const BEYOND_LOCAL: Readonly<Record<string, number>> = {
  'read 2 KiB': 1.5,
  'read 1 MiB': 3.6,
  'write new': 2.2,
  overwrite: 2.2,
  edit: 2.2,
  'glob, 20,000 files': 3.0,
  'grep, 20,000 files': 1.6,
  'bash true': 1.4,
}

const beyondLocal = (tool: string): string => `${tool} at ${FAR}, the time in a local folder taken off`
const FIRST = `${FRESH_PROCESS}, at ${FAR}`

const GOALS: readonly Goal[] = [
  ...Object.entries(BEYOND_LOCAL).map(([tool, goal]) => goalOf(beyondLocal(tool), goal)),
  goalOf(FIRST, 9),
]

function goalOf(name: string, goal: number): Goal {
  return { name, unit: 'round trips', bound: 'at most', goal }
}

export const tools: Bench = {
  name: 'tools',
  about: `each tool of the agent in a real host: in a local folder, on ${LOOPBACK} and at ${FAR}`,
  goals: GOALS,
  rounds: 4,
  run: async (findings, { rounds }) => {
    const undo = new AsyncDisposableStack()
    try {
      const places = await startPlaces(findings, undo)
      const medians = await measure(places, findings, rounds, undo)
      tell(places, medians, findings)
    } finally {
      await undo.disposeAsync()
    }
  },
}

async function startPlaces(findings: Findings, undo: AsyncDisposableStack): Promise<readonly Place[]> {
  const near = await loopback()
  undo.defer(() => near.stop())
  try {
    const far = await delayed(RTT_MS)
    undo.defer(() => far.stop())
    return [near, far]
  } catch (failure) {
    if (!(failure instanceof BedUnavailable)) throw failure
    findings.notMeasured(
      GOALS.map(({ name }) => name),
      failure.message,
    )
    const unmeasured = { place: FAR, ms: null, roundTrips: null, note: failure.message }
    findings.row({ ...unmeasured, what: 'everything', who: 'ours' })
    return [near]
  }
}

type Medians = (what: string, label: string) => number

async function measure(
  places: readonly Place[],
  findings: Findings,
  rounds: number,
  undo: AsyncDisposableStack,
): Promise<Medians> {
  const model = await startTimedModel()
  undo.defer(() => model.stop())
  const host = await startToolHost(model.url, places, (text) => findings.progress(text))
  undo.defer(() => host.stop())
  const lines: Subject<string>[] = places.map((place) => ({
    name: at(ROUND_TRIP, place),
    measure: () => place.roundTrip(),
  }))
  findings.progress('measuring the tools …')
  const web = await host.start()
  undo.defer(() => web.stop())
  const running = await inTurn([...lines, ...toolSubjects(host, web, model)], rounds)
  await web.stop()
  findings.progress('measuring hosts that have just been started …')
  const medians = { ...running, ...(await inTurn(freshSubjects(host, model), rounds)) }
  return (what, label) => medians[at(what, { label })] ?? Number.NaN
}

function tell(places: readonly Place[], medians: Medians, findings: Findings): void {
  for (const { label } of places) {
    const ms = medians(ROUND_TRIP, label)
    findings.row({ place: label, what: ROUND_TRIP, who: 'the line', ms, roundTrips: null })
  }
  const roundTrip = places.some(({ label }) => label === FAR) ? medians(ROUND_TRIP, FAR) : undefined
  for (const what of [...CASES.map(({ name }) => name), NEW_SESSION, FRESH_PROCESS]) {
    const local = medians(what, LOCAL)
    findings.row({ place: LOCAL, what, who: 'the host', ms: local, roundTrips: null })
    findings.row({ place: LOOPBACK, what, who: 'ours', ms: medians(what, LOOPBACK), roundTrips: null })
    if (roundTrip === undefined) continue
    const far = medians(what, FAR)
    const beyond = (far - local) / roundTrip
    const note = `local and ${beyond.toFixed(2)} round trips`
    findings.row({ place: FAR, what, who: 'ours', ms: far, roundTrips: far / roundTrip, note })
    if (what in BEYOND_LOCAL) findings.figure(beyondLocal(what), beyond)
    if (what === FRESH_PROCESS) findings.figure(FIRST, far / roundTrip)
  }
}
