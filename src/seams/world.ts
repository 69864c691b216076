/**
 * Which world a path means: the one decision that all seams share. Never a guess: a path of a remote
 * world that cannot be reached is refused, and never served locally.
 */
import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, resolve } from 'node:path'
import { systemCode } from '../base/failure.ts'
import { joinRemote, parseRemotePath, type RemotePath } from '../base/remote-path.ts'
import { currentSession, type CurrentSession } from '../core/current-session.ts'
import type { Presence } from '../core/presence.ts'
import { LinkedMarkerError, LocalFolderError, StrayPathError } from '../places/errors.ts'
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

/**
 * @param path - as the host or the model gave it.
 * @param cwd - the folder that the caller says the path is relative to.
 * @throws StrayPathError; InvalidRemotePathError for a remote path that cannot be one.
 */
export function worldOf(presence: Presence, path: string, cwd: string | undefined): World {
  const session = currentSession()
  if (!isAbsolute(path)) {
    const base = cwd === undefined ? undefined : presence.mounts.placeOf(cwd)
    return base === undefined ? LOCAL : remote(base.machine, joinRemote(base.path, path))
  }
  if (cwd === undefined && leavesTheMachine(presence, path, session)) return { kind: 'nowhere' }
  const place = presence.mounts.placeOf(path)
  if (place !== undefined) return { kind: 'remote', place }
  const home = cwd === undefined ? sessionOfNamedPath(presence, path, session) : presence.mounts.placeOf(cwd)
  if (home === undefined || presence.isLocalPlace(path) || !path.startsWith('/')) return LOCAL
  // A bare `mounts` or another local look-alike below it is not a path of the machine.
  if (isUnderMounts(presence, path)) return LOCAL
  return remote(home.machine, parseRemotePath(path))
}

/**
 * The place where a process with this working folder runs, or undefined for a local one.
 * @throws StrayPathError, LinkedMarkerError; LocalFolderError for a folder of the host's own that was named in a
 * remote session: nothing of such a session runs on this computer.
 *
 * A folder that the model named in a remote session means the machine's folder, although the host has
 * resolved it as if it were local.
 */
export function worldOfFolder(presence: Presence, folder: string): Place | undefined {
  const place = presence.mounts.placeOf(folder)
  if (place !== undefined) return place
  // A process there would act on this computer, in what stands for the machines.
  if (isUnderMounts(presence, folder)) throw new StrayPathError(folder, '')
  const session = currentSession()
  const home = session?.cwd === undefined ? undefined : presence.mounts.placeOf(session.cwd)
  if (session?.cwd === undefined || home === undefined) {
    const real = realFolder(folder)
    if (isUnderMounts(presence, real)) throw new StrayPathError(folder, '')
    refuseMarker(presence, folder, real)
    return undefined
  }
  for (const text of session.named) {
    if (text === '' || resolve(session.cwd, text) !== resolve(folder)) continue
    if (isAbsolute(text) && presence.isLocalPlace(text)) throw new LocalFolderError(folder, home.machine)
    return { machine: home.machine, path: joinRemote(home.path, text) }
  }
  return undefined
}

/**
 * What stands for a machine is reached by its own spelling only: a local path that leads there by a link would
 * be served on this computer, from a folder that is empty.
 * @param real - the path without links.
 * @throws LinkedMarkerError, StrayPathError.
 */
export function refuseMarker(presence: Presence, path: string, real: string): void {
  const place = presence.mounts.placeOf(real)
  if (place !== undefined) throw new LinkedMarkerError(path, presence.mounts.format(place))
}

/** A folder without links; one that is not there, or cannot be looked at, as it is. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return folder
  }
}

/**
 * The host searches upward from a session's folder for `.git`. From a remote folder that search runs out
 * of the mounts into local folders, where a repository of the user's would be taken for the session's.
 */
function leavesTheMachine(presence: Presence, path: string, session: CurrentSession | undefined): boolean {
  if (basename(path) !== '.git' || session?.cwd === undefined) return false
  const folder = dirname(path)
  if (!presence.mounts.isAbove(folder) && !isUnderMounts(presence, folder)) return false
  return presence.mounts.placeOf(session.cwd) !== undefined
}

/** The session's place when the model itself named this path in the running tool call. */
function sessionOfNamedPath(
  presence: Presence,
  path: string,
  session: CurrentSession | undefined,
): Place | undefined {
  if (session?.phase !== 'tool' || session.cwd === undefined || !session.named.includes(path))
    return undefined
  return presence.mounts.placeOf(session.cwd)
}

function isUnderMounts(presence: Presence, path: string): boolean {
  const normal = resolve(path)
  return normal === presence.mounts.root || normal === presence.home.mounts
}

function remote(machine: string, path: RemotePath): World {
  return { kind: 'remote', place: { machine, path } }
}
