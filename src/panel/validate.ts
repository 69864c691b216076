/** Inputs of the panel's calls: what a page may send, checked before the core hears of it. */
import { Buffer } from 'node:buffer'
import { InvalidRemotePathError, parseRemotePath, type RemotePath } from '../base/remote-path.ts'
import { PlaceError } from '../places/errors.ts'
import { RequestError } from './errors.ts'

/** PATH_MAX of Linux, in bytes; every system Presence can speak to has this or less. */
const PATH_LIMIT_BYTES = 4096
/** A DNS name has at most 253 characters; an alias is a name a person types. */
const HOST_LIMIT = 255
const TITLE_LIMIT = 200

/** @throws RequestError `bad-request` */
export function hostName(value: unknown): string {
  if (typeof value !== 'string') throw bad('"host" must be the name of a machine')
  if (value.length === 0 || value.length > HOST_LIMIT || hasControl(value)) {
    throw bad(`"host" must have 1 to ${HOST_LIMIT} printable characters`)
  }
  return value
}

/**
 * An absolute path on a machine. `..` is refused rather than folded: with a symbolic link before it,
 * folding by spelling names another folder than the machine would.
 * @throws RequestError `bad-request` when there is none, PlaceError `bad-path` when it cannot be one
 */
export function remotePath(value: unknown): RemotePath {
  if (typeof value !== 'string') throw bad('"path" must be a path on the machine')
  if (Buffer.byteLength(value) > PATH_LIMIT_BYTES) throw badPath(`longer than ${PATH_LIMIT_BYTES} bytes`)
  if (!value.isWellFormed()) throw badPath('not well-formed text')
  if (value.split('/').includes('..')) {
    throw badPath('it holds "..", which means another folder after a symbolic link; give the folder itself')
  }
  try {
    return parseRemotePath(value)
  } catch (error) {
    if (error instanceof InvalidRemotePathError) throw badPath(error.message, error)
    throw error
  }
}

/** A title for the sidebar; absent and blank mean the default one. @throws RequestError `bad-request` */
export function optionalTitle(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw bad('"title" must be text')
  if (value.length > TITLE_LIMIT || hasControl(value)) {
    throw bad(`"title" must have at most ${TITLE_LIMIT} printable characters`)
  }
  const title = value.trim()
  return title === '' ? undefined : title
}

/** A query parameter that is given once. @throws RequestError `bad-request` */
export function soleParameter(query: URLSearchParams, name: string): string {
  const [value, ...more] = query.getAll(name)
  if (value === undefined || more.length > 0) throw bad(`"${name}" must be given once`)
  return value
}

export function bad(why: string): RequestError {
  return new RequestError(`Bad request: ${why}.`, 'bad-request')
}

function badPath(why: string, cause?: unknown): PlaceError {
  return new PlaceError(`This cannot be a folder or file on a machine: ${why}.`, 'bad-path', { cause })
}

function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text) || !text.isWellFormed()
}
