/**
 * The sandbox fence on file changes in a remote world: decided on canonical paths of the machine, in
 * the host's own error class, so that the model sees the host's marker and its way to ask for more.
 */
import { FsError } from '@deepseek-ai/dsh-fs'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import { containsPath, parseRemotePath, type RemotePath } from '../base/remote-path.ts'
import type { Presence } from '../core/presence.ts'
import type { Place } from '../places/place.ts'
import { placeOf } from './world.ts'

/**
 * The path that a change may use now: resolved anew, so that a link swapped since is seen.
 * @throws FsError `FS_SANDBOX_DENIED`.
 */
export async function fencedPath(
  presence: Presence,
  place: Place,
  shown: string,
  policy: SandboxExecutionPolicy,
  signal: AbortSignal | undefined,
): Promise<RemotePath> {
  const denied = (): FsError =>
    new FsError(`cannot write "${shown}": file access denied under ${policy.mode} mode`, 'FS_SANDBOX_DENIED')
  switch (policy.mode) {
    case 'danger-full-access':
      return place.path
    case 'read-only':
      throw denied()
    case 'workspace-write': {
      const files = presence.files(place.machine)
      const path = await files.canonical(place.path, { signal })
      for (const root of await writableRoots(presence, place.machine, policy.workspaceRoot, signal)) {
        if (containsPath(root, path)) return path
      }
      throw denied()
    }
  }
}

/** The workspace, when it is on this machine, and the machine's temporary folders. */
async function writableRoots(
  presence: Presence,
  machine: string,
  workspaceRoot: string,
  signal: AbortSignal | undefined,
): Promise<RemotePath[]> {
  const files = presence.files(machine)
  const workspace = placeOf(presence, workspaceRoot)
  const session = await presence.machine(machine).session(signal)
  const temporary = [...new Set(['/tmp', session.shell?.tmp ?? '/tmp'])].map(parseRemotePath)
  const roots = [...(workspace?.machine === machine ? [workspace.path] : []), ...temporary]
  return Promise.all(roots.map((root) => files.canonical(root, { signal })))
}
