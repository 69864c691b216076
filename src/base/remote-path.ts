/**
 * Paths on a machine. They are POSIX paths whatever the local platform is; only this file may build
 * one, so that no local path function ever touches them.
 */
import { posix } from 'node:path'

declare const remotePath: unique symbol
/**
 * An absolute, lexically normal path on some machine: no `.`, `..`, `//` or trailing slash. Bytes of it that are
 * not UTF-8 are there as `name-bytes.ts` has them.
 */
export type RemotePath = string & { readonly [remotePath]: true }

export const REMOTE_ROOT = '/' as RemotePath

export class InvalidRemotePathError extends Error {}

/**
 * Parse an absolute path as a machine prints it.
 * @throws InvalidRemotePathError when it is empty, relative, or holds a NUL byte.
 */
export function parseRemotePath(text: string): RemotePath {
  if (text.trim().length === 0) throw new InvalidRemotePathError('the path is empty')
  if (text.includes('\0')) throw new InvalidRemotePathError('the path holds a NUL byte')
  if (!text.startsWith('/')) throw new InvalidRemotePathError(`"${text}" is not an absolute path`)
  return normal(text)
}

/** A path below or beside `base`; an absolute `path` replaces it. `..` is folded lexically. */
export function joinRemote(base: RemotePath, path: string): RemotePath {
  if (path.includes('\0')) throw new InvalidRemotePathError('the path holds a NUL byte')
  return normal(posix.resolve(base, path))
}

/** The child called `name`; a name is one segment and is taken as it is. */
export function childOf(parent: RemotePath, name: string): RemotePath {
  return (parent === '/' ? `/${name}` : `${parent}/${name}`) as RemotePath
}

export function parentOf(path: RemotePath): RemotePath {
  return posix.dirname(path) as RemotePath
}

export function nameOf(path: RemotePath): string {
  return posix.basename(path)
}

/** True when `child` is `parent` or lies below it, by spelling alone. */
export function containsPath(parent: RemotePath, child: RemotePath): boolean {
  return parent === '/' || child === parent || child.startsWith(`${parent}/`)
}

/** Segments from the root; the root itself has none. */
export function segmentsOf(path: RemotePath): string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

function normal(path: string): RemotePath {
  const folded = posix.normalize(path).replace(/^\/\/+/, '/')
  return (folded.length > 1 && folded.endsWith('/') ? folded.slice(0, -1) : folded) as RemotePath
}
