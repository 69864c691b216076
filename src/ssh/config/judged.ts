/**
 * What the `ssh` program answered, kept as long as nothing that it depends on changes: to ask takes a
 * process, which is a good part of the time that a connection to a near machine takes.
 */
import { createHash } from 'node:crypto'
import type { ParsedDestination } from './destination.ts'
import { evaluate } from './evaluate.ts'
import type { LocalFacts } from './facts.ts'
import { ConfigProblem } from './problem.ts'
import type { ConfigSources, MachineSettings } from './settings.ts'

/** A program may have been built to read a file that we do not know of: an answer is not kept for longer. */
const KEPT_MS = 5 * 60_000
const MOST_KEPT = 200

interface Kept {
  readonly settings: MachineSettings
  readonly until: number
}

const kept = new Map<string, Kept>()

/**
 * The answer for a destination, from memory or from `ask`.
 * @param edition - changes when the program does.
 * @throws what `ask` throws.
 */
export async function judged(
  edition: string,
  destination: ParsedDestination,
  sources: ConfigSources,
  facts: LocalFacts,
  ask: () => Promise<MachineSettings>,
): Promise<MachineSettings> {
  const inputs = (): Promise<string | undefined> => inputsOf(edition, destination, sources, facts)
  const before = await inputs()
  const known = before === undefined ? undefined : kept.get(before)
  if (known !== undefined && performance.now() < known.until) return known.settings
  const settings = await ask()
  // What was changed while the program read it belongs to neither state.
  if (before !== undefined && (await inputs()) === before) {
    kept.delete(before)
    kept.set(before, { settings, until: performance.now() + KEPT_MS })
    for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest)
  }
  return settings
}

/** A digest of all that decides the answer; undefined when something outside of files may decide it. */
async function inputsOf(
  edition: string,
  destination: ParsedDestination,
  sources: ConfigSources,
  facts: LocalFacts,
): Promise<string | undefined> {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([edition, destination, facts]))
  try {
    const { certain } = await evaluate(destination, sources, facts, undefined, (path, file) => {
      hash.update(JSON.stringify([path, file]))
    })
    return certain ? hash.digest('hex') : undefined
  } catch (error) {
    if (error instanceof ConfigProblem) return undefined
    throw error
  }
}
