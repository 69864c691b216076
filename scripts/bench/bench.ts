/** What one bench is, and what it may say: rows to read and figures for its goals. */

/** A bound that a figure has to keep. Figures are ratios or round trips, never times of one computer. */
export interface Goal {
  readonly name: string
  readonly unit: 'ratio' | 'round trips'
  readonly bound: 'at most' | 'at least'
  readonly goal: number
}

export interface Row {
  /** Where: `loopback`, `50 ms`. */
  readonly place: string
  readonly what: string
  readonly who: string
  /** Median in milliseconds; null when it was not measured. */
  readonly ms: number | null
  /** The median in round trips of the place; null where those are too short to count in. */
  readonly roundTrips: number | null
  /** Our median divided by this row's. */
  readonly oursToThis?: number
  readonly note?: string
}

/** What a bench says while it runs. */
export interface Findings {
  row(row: Row): void
  /** @throws for a name that is not among the bench's goals. */
  figure(goal: string, value: number): void
  /** Why these goals have no figure. */
  notMeasured(goals: readonly string[], why: string): void
  /** A line for the person who waits. */
  progress(text: string): void
}

export interface BenchOptions {
  /** How often everything is measured; the median counts. */
  readonly rounds: number
}

export interface Bench {
  readonly name: string
  /** One sentence for the list of benches. */
  readonly about: string
  /** All of them, also those that may turn out not to be measurable. */
  readonly goals: readonly Goal[]
  readonly rounds: number
  run(findings: Findings, options: BenchOptions): Promise<void>
}
