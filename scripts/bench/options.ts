/** The words after `npm run bench --`. */
import { UsageError } from '../start/options.ts'
import type { Bench } from './bench.ts'
import { BENCHES } from './benches.ts'

export interface BenchRequest {
  readonly bench: Bench
  readonly rounds: number
  readonly json: boolean
}

export const USAGE = [
  'npm run bench -- <name> [--rounds N] [--json]',
  '',
  ...BENCHES.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`),
  '',
  '  --rounds N   how often everything is measured; the median counts',
  '  --json       one JSON object as the last line: rows, goals',
  '',
  'Exit code 0: every goal was measured and is met. Delays need Linux and root.',
].join('\n')

/** @returns undefined when help is asked for. @throws UsageError. */
export function parseRequest(words: readonly string[]): BenchRequest | undefined {
  const left = [...words]
  let json = false
  let rounds: number | undefined
  let bench: Bench | undefined
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--help' || word === '-h') return undefined
    if (word === '--json') json = true
    else if (word === '--rounds') rounds = roundsOf(left.shift())
    else if (bench !== undefined || word.startsWith('-')) throw new UsageError(`what is "${word}"?`)
    else bench = benchOf(word)
  }
  if (bench === undefined) throw new UsageError('which bench?')
  return { bench, rounds: rounds ?? bench.rounds, json }
}

function benchOf(name: string): Bench {
  const bench = BENCHES.find((one) => one.name === name)
  if (bench === undefined) throw new UsageError(`there is no bench "${name}"`)
  return bench
}

function roundsOf(value: string | undefined): number {
  const rounds = Number(value)
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new UsageError(`--rounds takes a whole number from 1, not ${value ?? 'nothing'}`)
  }
  return rounds
}
