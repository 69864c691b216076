/**
 * Which place a tool call means. In a session on a machine it is that session's workspace; elsewhere a
 * machine is named, or the current workspace serves. Nothing is ever guessed.
 */
import type { ToolRunContext } from '@deepseek-ai/dsh-tools'
import { InvalidRemotePathError, joinRemote, parseRemotePath, type RemotePath } from '../base/remote-path.ts'
import type { Presence } from '../core/presence.ts'
import { placeTitle, type Place } from '../places/place.ts'
import { PlaceError } from '../places/errors.ts'

export interface TargetArguments {
  readonly host?: string | undefined
  readonly path?: string | undefined
}

/**
 * The remote workspace that the calling session works in, if it does.
 * @throws StrayPathError for a session on a machine that is not known any more: it is no local one.
 */
export function sessionPlace(presence: Presence, exec: ToolRunContext): Place | undefined {
  const cwd = exec.agent?.session.header.cwd
  return cwd === undefined ? undefined : presence.mounts.placeOf(cwd)
}

/** The folder that relative paths start from, or only a machine when none is known there. */
export function baseOf(
  presence: Presence,
  exec: ToolRunContext,
  host: string | undefined,
): { readonly machine: string; readonly folder: RemotePath | undefined } {
  const session = sessionPlace(presence, exec)
  const current = presence.workspaces.active
  if (host === undefined) {
    const place = session ?? current
    if (place === undefined) throw noMachine(presence)
    return { machine: place.machine, folder: place.path }
  }
  if (!presence.machines.isMachine(host)) throw presence.machines.unknown(host)
  if (session?.machine === host) return { machine: host, folder: session.path }
  return { machine: host, folder: current?.machine === host ? current.path : undefined }
}

/**
 * The place of a path argument. Local spellings of the machine's paths are understood.
 * @param fallback - what an omitted path means; undefined: it must be given.
 * @throws ConnectError `unknown-machine`; PlaceError `bad-path`.
 */
export function targetOf(
  presence: Presence,
  exec: ToolRunContext,
  args: TargetArguments,
  fallback?: string,
): Place {
  const { machine, folder } = baseOf(presence, exec, args.host)
  const path = args.path ?? fallback
  if (path === undefined || path.trim() === '') {
    throw new PlaceError('the path is empty', 'bad-path', { machine })
  }
  const mounted = presence.mounts.placeOf(path)
  if (mounted !== undefined) {
    if (mounted.machine === machine) return mounted
    throw new PlaceError(
      `"${path}" is a path of ${mounted.machine}; give host "${mounted.machine}" for it`,
      'bad-path',
      { machine },
    )
  }
  try {
    if (path.startsWith('/')) return { machine, path: parseRemotePath(path) }
    if (folder !== undefined) return { machine, path: joinRemote(folder, path) }
  } catch (error) {
    if (!(error instanceof InvalidRemotePathError)) throw error
    throw new PlaceError(error.message, 'bad-path', { machine, cause: error })
  }
  throw new PlaceError(
    `"${path}" is relative, and there is no workspace on this machine that it could be relative to. Give an absolute path`,
    'bad-path',
    { machine },
  )
}

/** As the model should see a place: the machine's own spelling, with its name. */
export function shownPlace(place: Place): string {
  return placeTitle(place)
}

function noMachine(presence: Presence): PlaceError {
  const known = presence.machines.list().map((machine) => machine.name)
  const names = known.length === 0 ? 'none is known' : `known: ${known.slice(0, 20).join(', ')}`
  return new PlaceError(
    `this session works on the local computer and no remote workspace is current. Give host (${names}) and an absolute path`,
    'bad-path',
  )
}
