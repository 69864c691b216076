/**
 * Translates one spawn request of the host into what the machine is to run: its spellings, its
 * environment, its search engine, its confinement. Refuses what has no meaning there.
 */
import type { SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import type { RemotePath } from '../base/remote-path.ts'
import type { Presence } from '../core/presence.ts'
import { confinedArgv } from '../core/sandbox-policy.ts'
import type { Place } from '../places/place.ts'
import type { MachineSession } from '../remote/session.ts'
import { StartError } from '../remote/process/errors.ts'
import type { ProcessRequest } from '../remote/process/remote-process.ts'
import { readConfined } from './confined-argv.ts'
import { isSearch, translateSearch } from './search-argv.ts'

/** Variables that name things of the local computer and would mislead a program elsewhere. */
const LOCAL_VARIABLES = /^(DSH_HOME|DSH_SESSION_JSONL|DSH_WEB_.*)$/

export function requestOf(spec: SubprocessSpawnSpec, place: Place): ProcessRequest {
  const { stdin } = spec.stdio
  return {
    argv: [...spec.argv],
    folder: place.path,
    env: remoteEnvironment(spec.env),
    input: stdin === 'ignore' ? 'none' : stdin === 'pipe' ? 'pipe' : { data: stdin.data },
    graceMs: spec.graceMs,
  }
}

/** The variables that were asked for, without those that name local things. */
export function remoteEnvironment(asked: NodeJS.ProcessEnv | undefined): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(asked ?? {})) {
    if (value !== undefined && !LOCAL_VARIABLES.test(name)) env[name] = value
  }
  return env
}

/**
 * What to run on the machine for an argv of the host.
 * @throws StartError, UnconfinedError.
 */
export async function prepareArgv(
  presence: Presence,
  session: MachineSession,
  folder: RemotePath,
  asked: readonly string[],
  use: 'command' | 'terminal',
): Promise<string[]> {
  const { machine } = session
  const confined = readConfined(asked)
  const argv = confined?.argv ?? asked
  const translated = isSearch(argv)
    ? translateSearch(presence, session, folder, argv)
    : translateArguments(presence, machine, argv)
  if (confined === undefined) return translated
  if (confined.machine !== machine) {
    throw new StartError(`a command confined for ${confined.machine} cannot run here`, 'refused', machine)
  }
  requireProgram(session, translated)
  return confinedArgv(presence, session, translated, confined.policy, use)
}

/** What confines a command tells of a missing program in words of its own, which sound like a missing sandbox. */
function requireProgram(session: MachineSession, [program = '']: readonly string[]): void {
  const { programs } = session.requireShell()
  if (program in programs && programs[program as keyof typeof programs] === undefined) {
    throw new StartError(`the program "${program}" is not installed there`, 'no-program', session.machine)
  }
}

/** Spellings of this machine's mount become the machine's paths; another machine's are refused. */
function translateArguments(presence: Presence, machine: string, argv: readonly string[]): string[] {
  return argv.map((argument) => {
    const { text, strangers } = presence.mounts.translateText(argument, machine)
    const [stranger] = strangers
    if (stranger !== undefined) {
      throw new StartError(
        `the command names a folder of another machine, ${stranger}; it runs on ${machine} and cannot see it`,
        'refused',
        machine,
      )
    }
    return text
  })
}
