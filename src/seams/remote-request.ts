/**
 * Translates one spawn request of the host into what the machine is to run: its spellings, its
 * environment, its search engine, its confinement. Refuses what has no meaning there.
 */
import type { SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import type { Presence } from '../core/presence.ts'
import type { Place } from '../places/place.ts'
import { bwrapArgv, confinementOf, waysOut } from '../remote/confine.ts'
import type { MachineSession } from '../remote/session.ts'
import { StartError } from '../remote/process/errors.ts'
import type { ProcessRequest } from '../remote/process/remote-process.ts'
import { readConfined } from './confined-argv.ts'
import { isSearch, translateSearch } from './search-argv.ts'
import { UnconfinedError } from './told-failure.ts'

/** Variables that name things of the local computer and would mislead a program elsewhere. */
const LOCAL_VARIABLES = /^(DSH_HOME|DSH_SESSION_JSONL|DSH_WEB_.*)$/

export function requestOf(spec: SubprocessSpawnSpec, place: Place): ProcessRequest {
  const { stdin } = spec.stdio
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(spec.env ?? {})) {
    if (value !== undefined && !LOCAL_VARIABLES.test(name)) env[name] = value
  }
  return {
    argv: [...spec.argv],
    folder: place.path,
    env,
    input: stdin === 'ignore' ? 'none' : stdin === 'pipe' ? 'pipe' : { data: stdin.data },
    graceMs: spec.graceMs,
  }
}

/** @throws StartError, UnconfinedError. */
export async function prepareRequest(
  presence: Presence,
  session: MachineSession,
  request: ProcessRequest,
  spec: SubprocessSpawnSpec,
): Promise<ProcessRequest> {
  const { machine } = session
  const confined = readConfined(spec.argv)
  const argv = confined?.argv ?? request.argv
  const translated = isSearch(argv)
    ? translateSearch(presence, session, request.folder, argv)
    : translateArguments(presence, machine, argv)
  if (confined === undefined) return { ...request, argv: translated }
  if (confined.machine !== machine) {
    throw new StartError(`a command confined for ${confined.machine} cannot run here`, 'refused', machine)
  }
  const unconfined = presence.machines.get(machine)?.unconfined === true
  switch (confinementOf(session.shell, unconfined)) {
    case 'bwrap': {
      // A bind onto a link would bind beside what the link leads to.
      const root = await presence.files(machine).canonical(confined.policy.root)
      return { ...request, argv: bwrapArgv(translated, { ...confined.policy, root }) }
    }
    case 'unconfined-by-switch':
      return { ...request, argv: translated }
    case 'none':
      session.requireShell()
      throw new UnconfinedError(waysOut(machine), machine)
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
