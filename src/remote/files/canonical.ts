/**
 * The canonical spelling of a path: symbolic links resolved on the machine itself, so that every
 * spelling of one file has one identity. A path that does not exist yet keeps its missing rest below
 * its deepest existing ancestor.
 */
import { childOf, nameOf, parentOf, type RemotePath } from '../../base/remote-path.ts'
import type { SftpChannel } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import type { MachineSession } from '../session.ts'
import { FileError, isAbsent } from './errors.ts'
import { typeOf } from './stat.ts'

/**
 * @param shown - the path as messages show it.
 * @throws FileError `not-found` when an ancestor is a file; SftpStatusError; LinkLostError.
 */
export async function canonicalPath(
  session: MachineSession,
  path: RemotePath,
  shown: string,
  signal?: AbortSignal,
): Promise<RemotePath> {
  const sftp = await session.sftp(signal)
  // Servers differ in whether realpath accepts a missing last segment: only an existing one is believed.
  const [real, exists] = await Promise.all([
    realOrAbsent(sftp, path, signal),
    existsThere(sftp, path, signal),
  ])
  if (real !== undefined && exists) return real
  const ancestors: RemotePath[] = []
  for (let at = path; at !== '/'; at = parentOf(at)) ancestors.push(parentOf(at))
  const found = await Promise.all(
    ancestors.map(async (ancestor) => {
      const [resolved, type] = await Promise.all([
        realOrAbsent(sftp, ancestor, signal),
        typeThere(sftp, ancestor, signal),
      ])
      return resolved === undefined || type === undefined ? undefined : { resolved, type }
    }),
  )
  const depth = found.findIndex((ancestor) => ancestor !== undefined)
  const deepest = found[depth]
  if (deepest === undefined) return path
  if (deepest.type !== 'directory') {
    throw new FileError(`cannot resolve "${shown}": a parent path segment is not a directory`, 'not-found', {
      machine: session.machine,
    })
  }
  const missing = [path, ...ancestors.slice(0, depth)].map(nameOf).toReversed()
  return missing.reduce(childOf, deepest.resolved)
}

async function realOrAbsent(
  sftp: SftpChannel,
  path: RemotePath,
  signal: AbortSignal | undefined,
): Promise<RemotePath | undefined> {
  try {
    return (await sftp.realpath(path, signal)) as RemotePath
  } catch (error) {
    if (isAbsent(error) || isDenied(error)) return undefined
    throw error
  }
}

async function existsThere(
  sftp: SftpChannel,
  path: RemotePath,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  return (await typeThere(sftp, path, signal)) !== undefined
}

async function typeThere(
  sftp: SftpChannel,
  path: RemotePath,
  signal: AbortSignal | undefined,
): Promise<ReturnType<typeof typeOf> | undefined> {
  try {
    return typeOf((await sftp.stat(path, signal)).mode)
  } catch (error) {
    if (isAbsent(error) || isDenied(error)) return undefined
    throw error
  }
}

/** A folder that may not be searched hides what is below it; the operation itself will say so. */
function isDenied(error: unknown): boolean {
  return error instanceof SftpStatusError && error.status === 'permission-denied'
}
