/** Measures several things fairly on a computer that does other work too: in turn, round by round. */

export interface Subject<Name extends string> {
  readonly name: Name
  /** `every second` round, or only so many, for which nothing is warmed up; every round when absent. */
  readonly rounds?: 'every second' | number
  /** @returns milliseconds. */
  measure(): Promise<number>
}

/** Milliseconds in which a server gets rid of one subject before the next: none pays for another's end. */
const SETTLING_MS = 150

/**
 * Every subject once in each round, so that what disturbs the computer disturbs all alike; the first round
 * warms up and does not count.
 * @param atMostMs - no further round begins after that; one always counts.
 * @returns the median of each in milliseconds.
 */
export async function inTurn<Name extends string>(
  subjects: readonly Subject<Name>[],
  rounds: number,
  settlingMs = SETTLING_MS,
  atMostMs = Number.POSITIVE_INFINITY,
): Promise<Record<Name, number>> {
  const taken = new Map<Name, number[]>(subjects.map(({ name }) => [name, []]))
  const began = performance.now()
  for (let round = 0; round <= rounds; round += 1) {
    if (round > 1 && performance.now() - began > atMostMs) break
    for (const { name, measure, rounds: wanted } of subjects) {
      if (!takesPart(wanted, round)) continue
      await new Promise((resume) => setTimeout(resume, settlingMs))
      const ms = await measure()
      if (round > 0) taken.get(name)?.push(ms)
    }
  }
  return Object.fromEntries([...taken].map(([name, times]) => [name, median(times)])) as Record<Name, number>
}

function takesPart(wanted: Subject<string>['rounds'], round: number): boolean {
  if (typeof wanted === 'number') return round > 0 && round <= wanted
  return wanted === undefined || round === 0 || round % 2 === 1
}

/** NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The value that this share of all, 0 to 1, does not exceed; NaN of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** Milliseconds that some work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
