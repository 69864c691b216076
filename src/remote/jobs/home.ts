/**
 * Which machine a background job is on. A machine's name is only how it is reached: behind it may stand another
 * one tomorrow, where a folder that is missing says nothing about the job, and nothing may be ended or removed.
 */
import type { RemotePath } from '../../base/remote-path.ts'
import type { MachineSession } from '../session.ts'
import { OtherMachineError } from './errors.ts'
import { statusOfJob } from './questions.ts'

export interface JobHome {
  /** What the machine calls itself: its host name, and its machine id where it has one. */
  readonly host: string
  /** Fingerprint of the key that it has shown; empty when it was not looked at. */
  readonly hostKey: string
}

/** @throws ChannelError `no-exec`. */
export function homeOf(session: MachineSession): JobHome {
  return { host: session.requireShell().host, hostKey: session.link.facts.hostKey?.sha256 ?? '' }
}

/**
 * Return when the machine of `session` is the one that the job is on. Where it is not certain the job's folder
 * tells: nobody else has a folder of that name. One whose supervisor runs is on this machine for certain; one
 * that does not may be in a temporary folder that several machines share, so the machine must bear its name.
 * @throws OtherMachineError; LinkLostError, ChannelError.
 */
export async function requireHome(
  session: MachineSession,
  folder: RemotePath,
  home: JobHome,
  signal?: AbortSignal,
): Promise<void> {
  const here = homeOf(session)
  const isNamesake = here.host === home.host
  if (isNamesake && here.hostKey === home.hostKey) return
  const status = await statusOfJob(session, folder, signal)
  if (status.kind === 'there' && (status.alive || isNamesake)) return
  const [then = '', now = ''] = [home, here].map(({ host }) => host.split(' ', 1)[0])
  const difference =
    then === now ? 'it has shown another host key' : `it calls itself "${now}", and that one "${then}"`
  throw new OtherMachineError(
    `this is not the machine that the background job was started on: ${difference}. The job is left as it is`,
    session.machine,
  )
}
