/**
 * What a session may change on a machine: the host's three modes applied to remote paths and remote
 * commands. The file seam, the subprocess seam and our own tools all decide here, so they cannot drift.
 */
import { containsPath, parseRemotePath, type RemotePath } from '../base/remote-path.ts'
import { PresenceError } from '../base/failure.ts'
import type { Place } from '../places/place.ts'
import { isInJobFolder } from '../remote/jobs/questions.ts'
import { waysOut, wrappedArgv, type ConfinePolicy } from '../remote/confine.ts'
import { inForegroundGroup } from '../remote/shell/job-control.ts'
import type { Fence } from '../remote/files/saving/change.ts'
import { FileError } from '../remote/files/errors.ts'
import type { MachineSession } from '../remote/session.ts'
import type { Presence } from './presence.ts'

export interface SessionPolicy {
  readonly mode: 'read-only' | 'workspace-write' | 'danger-full-access'
  /** Where the session works, when that is on a machine. */
  readonly workspace: Place | undefined
}

/** The folders that a session works in stay where they are; so long is it believed. */
const ROOTS_SETTLED_MS = 60_000

/** The machine cannot confine a command, so it was not run. */
export class UnconfinedError extends PresenceError {
  constructor(machine: string) {
    super(waysOut(machine), 'refused', { machine })
  }
}

/**
 * Where a session may change files of a machine, for the change itself to ask: only that knows where the path
 * leads at that moment.
 * @returns undefined for everywhere. @throws FileError `sandbox-denied`.
 */
export async function fenceOf(
  presence: Presence,
  place: Place,
  shown: string,
  policy: SessionPolicy,
  signal: AbortSignal | undefined,
): Promise<Fence | undefined> {
  const denied = (): FileError =>
    new FileError(`cannot write "${shown}": file access denied under ${policy.mode} mode`, 'sandbox-denied', {
      machine: place.machine,
    })
  switch (policy.mode) {
    case 'danger-full-access':
      return undefined
    case 'read-only':
      throw denied()
    case 'workspace-write': {
      const roots = await writableRoots(presence, place.machine, policy.workspace, signal)
      return (path) => {
        // What a background job is ended and told by is in the temporary folder, and not the session's to change.
        if (isInJobFolder(path) || !roots.some((root) => containsPath(root, path))) throw denied()
      }
    }
  }
}

/** The workspace, when it is on this machine, and the machine's temporary folders; canonical. */
async function writableRoots(
  presence: Presence,
  machine: string,
  workspace: Place | undefined,
  signal: AbortSignal | undefined,
): Promise<RemotePath[]> {
  const files = presence.files(machine)
  const session = await presence.machine(machine).session(signal)
  const temporary = [...new Set(['/tmp', session.shell?.tmp ?? '/tmp'])].map(parseRemotePath)
  const roots = [...(workspace?.machine === machine ? [workspace.path] : []), ...temporary]
  return Promise.all(roots.map((root) => files.settled(root, ROOTS_SETTLED_MS, { signal })))
}

/**
 * The argv that runs a command under a policy on the machine of `session`.
 * @throws UnconfinedError when the machine has no means and no switch; ChannelError without a shell.
 */
export async function confinedArgv(
  presence: Presence,
  session: MachineSession,
  argv: readonly string[],
  policy: ConfinePolicy,
  use: 'command' | 'terminal',
): Promise<string[]> {
  const { machine } = session
  const shell = session.requireShell()
  const { confiner, uid } = shell
  if (confiner === undefined) {
    if (presence.machines.get(machine)?.unconfined === true) return [...argv]
    throw new UnconfinedError(machine)
  }
  // A bind onto a link would bind beside what the link leads to.
  const files = presence.files(machine)
  const root = policy.root === undefined ? undefined : await files.settled(policy.root, ROOTS_SETTLED_MS)
  const confined = use === 'terminal' ? inForegroundGroup(argv, shell) : argv
  return wrappedArgv(confined, { ...policy, root }, confiner, uid)
}
