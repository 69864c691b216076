/**
 * Which world a path means: the one decision that all seams share. Never a guess: a path of a remote
 * world that cannot be reached is refused, and never served locally.
 */
import { basename, dirname, isAbsolute, resolve } from 'node:path'
import { PresenceError } from '../base/failure.ts'
import { joinRemote, parseRemotePath, type RemotePath } from '../base/remote-path.ts'
import { currentSession, type CurrentSession } from '../core/current-session.ts'
import type { Presence } from '../core/presence.ts'
import type { Place } from '../places/place.ts'

export type World =
  | { readonly kind: 'local' }
  | { readonly kind: 'remote'; readonly place: Place }
  /**
   * Nothing, whatever the local disk holds there: a search upward for a project that began on a machine
   * and has left it.
   */
  | { readonly kind: 'nowhere' }

const LOCAL: World = { kind: 'local' }

/** A path under the mounts of a machine that is not known (any more). */
export class StrayPathError extends PresenceError {
  constructor(path: string, machine: string) {
    super(
      `"${path}" belongs to the machine "${machine}", which is not known: it is neither an alias of your SSH ` +
        'configuration nor in machines.yml. Nothing was looked up locally instead',
      'refused',
      { machine },
    )
  }
}

/**
 * @param path - as the host or the model gave it.
 * @param cwd - the folder that the caller says the path is relative to.
 * @throws StrayPathError; InvalidRemotePathError for a remote path that cannot be one.
 */
export function worldOf(presence: Presence, path: string, cwd: string | undefined): World {
  const session = currentSession()
  if (!isAbsolute(path)) {
    const base = cwd === undefined ? undefined : placeOf(presence, cwd)
    return base === undefined ? LOCAL : remote(base.machine, joinRemote(base.path, path))
  }
  if (cwd === undefined && leavesTheMachine(presence, path, session)) return { kind: 'nowhere' }
  const place = placeOf(presence, path)
  if (place !== undefined) return { kind: 'remote', place }
  const home = cwd === undefined ? sessionOfNamedPath(presence, path, session) : placeOf(presence, cwd)
  if (home === undefined || presence.isLocalPlace(path) || !path.startsWith('/')) return LOCAL
  // A bare `mounts` or another local look-alike below it is not a path of the machine.
  if (isUnderMounts(presence, path)) return LOCAL
  return remote(home.machine, parseRemotePath(path))
}

/**
 * The place where a process with this working folder runs, or undefined for a local one.
 *
 * A folder that the model named in a remote session means the machine's folder, although the host has
 * resolved it as if it were local.
 */
export function worldOfFolder(presence: Presence, folder: string): Place | undefined {
  const place = placeOf(presence, folder)
  if (place !== undefined) return place
  const session = currentSession()
  const home = session?.cwd === undefined ? undefined : placeOf(presence, session.cwd)
  if (session?.cwd === undefined || home === undefined) return undefined
  for (const text of session.named) {
    if (text === '' || resolve(session.cwd, text) !== resolve(folder)) continue
    if (isAbsolute(text) && presence.isLocalPlace(text)) return undefined
    return { machine: home.machine, path: joinRemote(home.path, text) }
  }
  return undefined
}

/** The place of a path under the mounts, or undefined for a path elsewhere. @throws StrayPathError. */
export function placeOf(presence: Presence, path: string): Place | undefined {
  const location = presence.mounts.locate(path)
  switch (location.world) {
    case 'local':
      return undefined
    case 'remote':
      return location.place
    case 'unknown-machine':
      // `<mounts>/.git` and the like are names of the host's probes, not machines: simply absent locally.
      if (!location.below && PROBED.has(location.machine)) return undefined
      throw new StrayPathError(path, location.machine)
  }
}

/** What the host looks for in every folder above a session's, and which can be no machine's name. */
const PROBED = new Set([
  '.git',
  '.dsh',
  '.agents',
  'AGENTS.md',
  'AGENTS.local.md',
  'CLAUDE.md',
  'CLAUDE.local.md',
])

/**
 * The host searches upward from a session's folder for `.git`. From a remote folder that search runs out
 * of the mounts into local folders, where a repository of the user's would be taken for the session's.
 */
function leavesTheMachine(presence: Presence, path: string, session: CurrentSession | undefined): boolean {
  if (basename(path) !== '.git' || session?.cwd === undefined) return false
  return presence.mounts.isAbove(dirname(path)) && placeOf(presence, session.cwd) !== undefined
}

/** The session's place when the model itself named this path in the running tool call. */
function sessionOfNamedPath(
  presence: Presence,
  path: string,
  session: CurrentSession | undefined,
): Place | undefined {
  if (session?.phase !== 'tool' || session.cwd === undefined || !session.named.includes(path))
    return undefined
  return placeOf(presence, session.cwd)
}

function isUnderMounts(presence: Presence, path: string): boolean {
  const normal = resolve(path)
  return normal === presence.mounts.root || normal === presence.home.mounts
}

function remote(machine: string, path: RemotePath): World {
  return { kind: 'remote', place: { machine, path } }
}
