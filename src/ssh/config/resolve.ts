/**
 * The settings of one machine. The `ssh` program is the judge where there is one; our own evaluation
 * serves where there is none, and where nothing may be run.
 */
import { isSafeHostName, isSafeUserName, parseDestination, parseJumpHost } from './destination.ts'
import type { ParsedDestination } from './destination.ts'
import { ConnectError } from '../errors.ts'
import { evaluate } from './evaluate.ts'
import { localFacts, type LocalFacts } from './facts.ts'
import { interpret, UnsupportedConfig } from './interpret.ts'
import type { ExecRunner } from './pass.ts'
import { ConfigProblem } from './problem.ts'
import { judged } from './judged.ts'
import { askProgram, editionOf } from './program.ts'
import { runProgram } from './run-program.ts'
import type { ConfigSources, MachineSettings } from './settings.ts'

const EXEC_LIMIT_MS = 10_000

/**
 * The settings `ssh <alias>` would use; `user@host` and `ssh://user@host:port` are understood as there.
 * A name that no block mentions is a host name. Runs the commands of `Match exec` whose other criteria hold.
 * @throws ConnectError at stage `config`: `bad-config`, or `unsupported` for what Presence cannot do;
 *   CancelledError.
 */
export function resolveSettings(
  alias: string,
  sources: ConfigSources,
  signal?: AbortSignal,
  facts: LocalFacts = localFacts(),
): Promise<MachineSettings> {
  return asConnectError(alias, async () =>
    resolveDestination(destinationOf(alias, parseDestination(alias)), sources, signal, facts),
  )
}

/**
 * The settings of one jump host, `[user@]host[:port]`, by its own blocks of the configuration: what the
 * hop names goes before what they say.
 * @throws as `resolveSettings`.
 */
export function resolveHop(
  hop: string,
  sources: ConfigSources,
  signal?: AbortSignal,
  facts: LocalFacts = localFacts(),
): Promise<MachineSettings> {
  return asConnectError(hop, async () =>
    resolveDestination(destinationOf(hop, parseJumpHost(hop)), sources, signal, facts),
  )
}

/**
 * The settings as far as they can be told without running anything, for showing them: by our own
 * evaluation, with no `Match exec` run and no block with one holding.
 * @throws as `resolveSettings`.
 */
export function previewSettings(
  alias: string,
  sources: ConfigSources,
  facts: LocalFacts = localFacts(),
): Promise<MachineSettings> {
  return asConnectError(alias, async () => {
    const destination = destinationOf(alias, parseDestination(alias))
    const { printed } = await evaluate(destination, sources, facts)
    return interpret(destination.host, printed, facts)
  })
}

/**
 * The settings as the `ssh` program will most likely tell them: by our own evaluation, at once.
 * @returns undefined where that cannot be told without running something, or where anything is doubtful.
 */
export async function forecastSettings(
  alias: string,
  sources: ConfigSources,
  facts: LocalFacts = localFacts(),
): Promise<MachineSettings | undefined> {
  try {
    const destination = destinationOf(alias, parseDestination(alias))
    const { printed, certain } = await evaluate(destination, sources, facts)
    return certain ? interpret(destination.host, printed, facts) : undefined
  } catch (error) {
    // Whoever is certain will say it.
    if (error instanceof ConfigProblem) return undefined
    throw error
  }
}

/** True when `ssh` could be asked for this name: not empty, and no character a shell would act upon. */
export function isUsableAlias(alias: string): boolean {
  const destination = parseDestination(alias)
  return destination !== undefined && isSafe(destination)
}

async function resolveDestination(
  destination: ParsedDestination,
  sources: ConfigSources,
  signal: AbortSignal | undefined,
  facts: LocalFacts,
): Promise<MachineSettings> {
  const { sshProgram, onlyFile } = sources
  if (sshProgram !== undefined) {
    return judged(editionOf(sshProgram), destination, sources, facts, async () => {
      const { printed, defaults } = await askProgram(sshProgram, onlyFile, destination, facts, signal)
      return interpret(destination.host, printed, facts, defaults)
    })
  }
  const { printed } = await evaluate(destination, sources, facts, execRunner(facts, signal))
  return interpret(destination.host, printed, facts)
}

function destinationOf(text: string, parsed: ParsedDestination | undefined): ParsedDestination {
  if (parsed === undefined || !isSafe(parsed)) {
    throw new ConfigProblem(`${JSON.stringify(text)} cannot be the name of a machine`)
  }
  return parsed
}

function isSafe({ host, user }: ParsedDestination): boolean {
  return isSafeHostName(host) && (user === undefined || isSafeUserName(user))
}

/** As `ssh`: the user's shell runs the command, and its exit status is the answer. */
function execRunner(facts: LocalFacts, signal: AbortSignal | undefined): ExecRunner {
  const limits = { facts, timeoutMs: EXEC_LIMIT_MS, signal }
  return async (command) => {
    const windows = facts.platform === 'win32'
    const shell = windows ? (facts.env['ComSpec'] ?? 'cmd.exe') : (facts.env['SHELL'] ?? '/bin/sh')
    const { code } = await runProgram(shell, [windows ? '/c' : '-c', command], limits)
    return code === 0
  }
}

async function asConnectError<T>(machine: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConfigProblem)) throw error
    const code = error instanceof UnsupportedConfig ? 'unsupported' : 'bad-config'
    throw new ConnectError(error.message, code, { machine, stage: 'config', cause: error })
  }
}
