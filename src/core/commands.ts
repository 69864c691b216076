/** Commands and terminals on a machine under a session's policy, for our own tools. */
import type { Place } from '../places/place.ts'
import type { ConfinePolicy } from '../remote/confine.ts'
import { RemoteProcess, type ProcessRequest } from '../remote/process/remote-process.ts'
import { RemoteTerminal, type TerminalRequest } from '../remote/process/terminal.ts'
import type { MachineSession } from '../remote/session.ts'
import type { Presence } from './presence.ts'
import { confinedArgv, type SessionPolicy } from './sandbox-policy.ts'

/** Start a command; it is confined as the policy says. Failures come with the process's `done`. */
export function startCommand(
  presence: Presence,
  place: Place,
  request: Omit<ProcessRequest, 'folder'>,
  policy: SessionPolicy,
): RemoteProcess {
  return new RemoteProcess(
    presence.machine(place.machine),
    { ...request, folder: place.path },
    async (session, asked) => ({
      ...asked,
      argv: await underPolicy(presence, session, asked.argv, policy, 'command'),
    }),
  )
}

/** @throws StartError, UnconfinedError, ConnectError, LinkLostError. */
export function openTerminal(
  presence: Presence,
  place: Place,
  request: Omit<TerminalRequest, 'folder'>,
  policy: SessionPolicy,
  signal: AbortSignal,
): Promise<RemoteTerminal> {
  return RemoteTerminal.start(
    presence.machine(place.machine),
    { ...request, folder: place.path },
    async (session, asked) => ({
      ...asked,
      argv: await underPolicy(presence, session, asked.argv, policy, 'terminal'),
    }),
    signal,
  )
}

async function underPolicy(
  presence: Presence,
  session: MachineSession,
  argv: readonly string[],
  policy: SessionPolicy,
  use: 'command' | 'terminal',
): Promise<string[]> {
  if (policy.mode === 'danger-full-access') return [...argv]
  const root = policy.workspace?.machine === session.machine ? policy.workspace.path : undefined
  const confine: ConfinePolicy = { mode: policy.mode, root }
  return confinedArgv(presence, session, argv, confine, use)
}
