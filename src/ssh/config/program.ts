/** Asks the `ssh` program what it makes of the configuration (ssh(1), -G). */
import { statSync } from 'node:fs'
import { formatJumpHost, type ParsedDestination } from './destination.ts'
import type { LocalFacts } from './facts.ts'
import { readPrinted, type Printed } from './printed.ts'
import { ConfigProblem } from './problem.ts'
import { resemblesBlock } from './keywords.ts'
import { runProgram } from './run-program.ts'

const LIMIT_MS = 10_000

/** More unknown keywords than a configuration for another version has. */
const MOST_UNKNOWN = 100

/** What each edition of a program prints without configuration: built into it, so asked for once. */
const defaultsOf = new Map<string, Printed>()

export interface Asked {
  readonly printed: Printed
  /** What the program prints without any configuration. */
  readonly defaults: Printed
}

/**
 * @throws ConfigProblem with the program's own words when it refuses or does not end in time,
 *   CancelledError.
 */
export async function askProgram(
  program: string,
  onlyFile: string | undefined,
  destination: ParsedDestination,
  facts: LocalFacts,
  signal?: AbortSignal,
): Promise<Asked> {
  const run = async (...options: string[]): Promise<Printed | { refusal: string }> => {
    const { host, user, port } = destination
    const who = user === undefined ? [] : ['-l', user]
    const where = port === undefined ? [] : ['-p', String(port)]
    const args = ['-G', ...options, ...who, ...where, '--', host]
    const { code, stdout, stderr } = await runProgram(program, args, { facts, timeoutMs: LIMIT_MS, signal })
    return code === 0 ? readPrinted(stdout) : { refusal: stderr.trim() }
  }
  const file = onlyFile === undefined ? [] : ['-F', onlyFile]
  const edition = editionOf(program)
  const known = defaultsOf.get(edition)
  const [configured, defaults] = await Promise.all([run(...file), known ?? run('-F', 'none')])
  if ('refusal' in defaults) throw refused(program, destination, defaults.refusal)
  defaultsOf.set(edition, defaults)
  let answer = configured
  const passedOver = new Set<string>()
  while ('refusal' in answer) {
    // One unknown keyword must not take all machines away. `ssh` stops at the end of the file that holds
    // one, and IgnoreUnknown here replaces the configuration's own, so the next may show only later.
    const unknown = unknownKeywords(answer.refusal)
    if (unknown.every((keyword) => passedOver.has(keyword)) || passedOver.size >= MOST_UNKNOWN)
      throw refused(program, destination, answer.refusal)
    for (const keyword of unknown) passedOver.add(keyword)
    answer = await run('-o', `IgnoreUnknown=${[...passedOver].join(',')}`, ...file)
  }
  return { printed: answer, defaults }
}

/** Changes when the program at this path is replaced. */
export function editionOf(program: string): string {
  const stats = statSync(program, { throwIfNoEntry: false })
  return `${program} ${stats?.size} ${stats?.mtimeMs}`
}

/**
 * The keywords that this `ssh` does not know and that may be passed over: none, if one of them may be a
 * mistyped beginning of a block.
 */
function unknownKeywords(refusal: string): string[] {
  const found = [...refusal.matchAll(/: line \d+: Bad configuration option: (\S+)/g)]
  const keywords = found.map(([, keyword = '']) => keyword)
  return keywords.every((keyword) => /^[a-z0-9]+$/.test(keyword) && !resemblesBlock(keyword)) ? keywords : []
}

function refused(program: string, destination: ParsedDestination, refusal: string): ConfigProblem {
  const words = refusal === '' ? 'without a word' : refusal
  return new ConfigProblem(`${program} refuses the configuration of ${formatJumpHost(destination)}: ${words}`)
}
