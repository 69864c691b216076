/** A place: one folder or file on one machine, named without any reference to the local computer. */
import type { RemotePath } from '../base/remote-path.ts'

export interface Place {
  /** The machine's alias, which is its identity. */
  readonly machine: string
  readonly path: RemotePath
}

const SCHEME = 'presence://'

/** The identity of a canonical place: two places have one key exactly when they are the same file. */
export function placeKey(place: Place): string {
  return `${SCHEME}${encodeURIComponent(place.machine)}${place.path}`
}

export function isPlaceKey(key: string): boolean {
  return key.startsWith(SCHEME)
}

/** The inverse of `placeKey`. @throws Error on text that `placeKey` did not make. */
export function placeOfKey(key: string): Place {
  const rest = isPlaceKey(key) ? key.slice(SCHEME.length) : ''
  const slash = rest.indexOf('/')
  if (slash < 1) throw new Error(`not a presence key: ${key}`)
  return { machine: decodeURIComponent(rest.slice(0, slash)), path: rest.slice(slash) as RemotePath }
}

/** For people and titles: `machine:/path`. */
export function placeTitle(place: Place): string {
  return `${place.machine}:${place.path}`
}
