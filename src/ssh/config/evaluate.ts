/**
 * Our own reading of the configuration, for machines without an `ssh` program and for looking at settings
 * without running anything: which values hold for one destination. Equal to `ssh -G` by test.
 *
 * Goes on where `ssh` would stop: a line that cannot be understood is left out with a warning.
 */
import type { ConfigFile } from './config-file.ts'
import { canonicalHost, type ParsedDestination } from './destination.ts'
import { allTokens, expandAll, expandTilde, expandTokens, type Destination } from './expand.ts'
import type { LocalFacts } from './facts.ts'
import { firstOf, type Printed } from './printed.ts'
import { isNone } from './keywords.ts'
import { readPass, type ExecRunner } from './pass.ts'
import type { ConfigSources } from './settings.ts'
import { dirname } from 'node:path'

export interface Evaluated {
  readonly printed: Printed
  readonly warnings: readonly string[]
  /** False when more than the files decides (a command, a network), or a line was not understood. */
  readonly certain: boolean
}

/**
 * @param runExec Runs the commands of `Match exec`; without it none is run, and no block with one holds.
 * @param seen Told of each file that was looked at.
 * @throws ConfigProblem when a file is missing or not to be trusted, or a value cannot be expanded.
 */
export async function evaluate(
  destination: ParsedDestination,
  sources: ConfigSources,
  facts: LocalFacts,
  runExec?: ExecRunner,
  seen: (path: string, file: ConfigFile) => void = () => undefined,
): Promise<Evaluated> {
  const typed = destination.host
  const values = new Map<string, string[]>()
  if (destination.user !== undefined) values.set('user', [destination.user])
  if (destination.port !== undefined) values.set('port', [String(destination.port)])
  const warnings = new Set<string>()
  let sure = true
  const common = {
    typed,
    values,
    facts,
    sources,
    runExec,
    warn: (text: string) => void warnings.add(text),
    seen,
    unsure: () => void (sure = false),
  }

  const first = await readPass({ ...common, host: typed, second: false })
  const host = dialledHost(typed, values)
  values.set('hostname', [host])
  // With canonicalisation `ssh` asks the DNS in between; without it the second reading is all there is.
  const canonicalise = firstOf(values, 'canonicalizehostname') ?? 'no'
  const canonicalises = canonicalise !== 'no' && canonicalise !== 'false'
  if (canonicalises) common.warn('CanonicalizeHostname is not supported: the name is dialled as it is')
  if (first.asksSecondPass || canonicalises) await readPass({ ...common, host, second: true })

  complete(values, host, typed, sources, facts)
  return { printed: values, warnings: [...warnings], certain: sure && warnings.size === 0 }
}

function dialledHost(typed: string, values: Printed): string {
  const configured = firstOf(values, 'hostname')
  const host = configured === undefined ? typed : expandTokens(configured, new Map([['h', typed]]))
  return canonicalHost(host, firstOf(values, 'addressfamily'))
}

/** Fill in what `ssh -G` prints unasked, and expand what it prints expanded. */
function complete(
  values: Map<string, string[]>,
  host: string,
  typed: string,
  sources: ConfigSources,
  facts: LocalFacts,
): void {
  const setDefault = (keyword: string, ...defaults: string[]): string[] => {
    const known = values.get(keyword) ?? defaults
    values.set(keyword, known)
    return known
  }
  const keyAlias = firstOf(values, 'hostkeyalias')?.toLowerCase()
  if (keyAlias !== undefined) values.set('hostkeyalias', [keyAlias])
  const [user = ''] = setDefault('user', facts.user)
  const [port = ''] = setDefault('port', '22')
  const jump = firstOf(values, 'proxyjump') ?? ''
  const destination: Destination = { typed, host, port, user, keyAlias, jump: isNone(jump) ? '' : jump }
  const tokens = allTokens(destination, facts)
  const expanded = (value: string): string => expandAll(expandTilde(value, facts), tokens, facts.env)

  const system = dirname(sources.systemFile)
  setDefault('globalknownhostsfile', `${system}/ssh_known_hosts`, `${system}/ssh_known_hosts2`)
  setDefault('userknownhostsfile', '~/.ssh/known_hosts', '~/.ssh/known_hosts2')
  for (const keyword of ['userknownhostsfile', 'globalknownhostsfile', 'revokedhostkeys']) {
    const files = values.get(keyword)
    if (files?.length === 1 && files.every(isNone)) values.set(keyword, [])
  }
  values.set('userknownhostsfile', (values.get('userknownhostsfile') ?? []).map(expanded))
  const agent = values.get('identityagent')
  if (agent !== undefined) values.set('identityagent', agent.map(expanded))
}
