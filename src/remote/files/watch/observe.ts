/**
 * A look at many paths in one flight: one question to the helper shell where there is one, otherwise a burst of
 * SFTP requests. Looking is no use of the connection, so that it may be closed as idle beneath.
 */
import type { RemotePath } from '../../../base/remote-path.ts'
import type { SftpChannel } from '../../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../../ssh/errors.ts'
import type { MachineSession } from '../../session.ts'
import { isAbsent } from '../errors.ts'
import { seenBySftp, seenByStat, type Observation } from './observation.ts'
import { tokensOf } from './tokens.ts'

/** SFTP requests in flight at once. */
const BURST = 256

/**
 * What is at each path, through links, in the order of `paths`.
 * @throws LinkLostError, ChannelError when the machine cannot be asked; CancelledError.
 */
export async function observe(
  session: MachineSession,
  paths: readonly RemotePath[],
  signal?: AbortSignal,
): Promise<Observation[]> {
  const told = await tokensOf(session, paths, signal)
  // `stat` does not say whether nothing is there or it may not be looked at; SFTP does.
  const untold = paths.filter((path) => !told.has(path))
  const asked = new Map(await askSftp(session, untold, signal))
  return paths.map((path) => {
    const token = told.get(path)
    return token === undefined ? (asked.get(path) ?? { kind: 'absent' }) : seenByStat(token)
  })
}

async function askSftp(
  session: MachineSession,
  paths: readonly RemotePath[],
  signal: AbortSignal | undefined,
): Promise<[RemotePath, Observation][]> {
  const found: [RemotePath, Observation][] = []
  for (let at = 0; at < paths.length; at += BURST) {
    const sftp = await quietSftp(session, signal)
    const burst = paths.slice(at, at + BURST)
    const asked = burst.map(async (path): Promise<[RemotePath, Observation]> => {
      return [path, await one(sftp, path, signal)]
    })
    found.push(...(await Promise.all(asked)))
  }
  return found
}

async function one(
  sftp: SftpChannel,
  path: RemotePath,
  signal: AbortSignal | undefined,
): Promise<Observation> {
  try {
    return seenBySftp(await sftp.stat(path, signal))
  } catch (error) {
    if (isAbsent(error)) return { kind: 'absent' }
    if (error instanceof SftpStatusError) return { kind: 'refused', error }
    throw error
  }
}

/** The SFTP channel, for what is no use of the connection. */
export async function quietSftp(session: MachineSession, signal?: AbortSignal): Promise<SftpChannel> {
  return session.link.openedSftp ?? (await session.sftp(signal))
}
