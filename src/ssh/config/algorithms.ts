/**
 * Turns a configured list of algorithms into names, with OpenSSH's operators and wildcards. Which names
 * there are is the caller's knowledge.
 */
import { matchesPattern } from './patterns.ts'
import type { AlgorithmChoice } from './settings.ts'

/** Read a list as written in a configuration: `+`, `^` or `-` before it change the defaults. */
export function readAlgorithms(value: string): AlgorithmChoice {
  const how = ({ '+': 'append', '^': 'prepend', '-': 'remove' } as const)[value.charAt(0)]
  const list = how === undefined ? value : value.slice(1)
  return { how: how ?? 'replace', patterns: list.split(',').filter((pattern) => pattern !== '') }
}

/**
 * What was configured, told from a list on which the operators were applied already: the order of the
 * defaults in it is then nobody's wish. A list that leaves out a default stays as it is, since it may be
 * a restriction that somebody wrote down.
 * @param printed The whole list, as `ssh -G` prints it.
 * @param defaults The whole list without configuration, from the same source.
 * @returns undefined: nothing was configured.
 */
export function recogniseAlgorithms(printed: string, defaults: string): AlgorithmChoice | undefined {
  if (printed === defaults) return undefined
  const names = printed.split(',')
  const standard = defaults.split(',')
  if (printed.startsWith(`${defaults},`)) return { how: 'append', patterns: names.slice(standard.length) }
  for (let first = 1; first < names.length; first += 1) {
    const put = names.slice(0, first)
    const rest = standard.filter((name) => !put.includes(name))
    if (names.slice(first).join() === rest.join()) return { how: 'prepend', patterns: put }
  }
  return readAlgorithms(printed)
}

/**
 * @param choice undefined: not configured.
 * @param defaults What holds without configuration, in order of preference.
 * @param available All there is to choose from; names of the choice that are not among it are dropped.
 * @returns names in order of preference without repetition; may be empty.
 */
export function applyAlgorithms(
  choice: AlgorithmChoice | undefined,
  defaults: readonly string[],
  available: readonly string[],
): string[] {
  if (choice === undefined) return [...defaults]
  const { how, patterns } = choice
  if (how === 'remove') {
    return defaults.filter((name) => !patterns.some((pattern) => matchesPattern(name, pattern)))
  }
  const chosen = patterns.flatMap((pattern) => available.filter((name) => matchesPattern(name, pattern)))
  const order = { replace: chosen, append: [...defaults, ...chosen], prepend: [...chosen, ...defaults] }[how]
  return [...new Set(order)]
}
