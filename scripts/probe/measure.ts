/** Round trips over a warm connection. Figures for a person: nothing is decided by them. */
import { parseRemotePath } from '../../src/base/remote-path.ts'
import type { Machine } from '../../src/remote/machine.ts'
import { RemoteProcess } from '../../src/remote/process/remote-process.ts'
import type { MachineSession } from '../../src/remote/session.ts'
import type { RoundTrips } from './result.ts'

const REQUESTS = 21
const COMMANDS = 7

/** @throws what the requests throw; a figure that the account cannot have is null. */
export async function roundTripsOf(
  machine: Machine,
  session: MachineSession,
  signal: AbortSignal,
): Promise<RoundTrips> {
  const { shell } = session
  const sftp = session.sftpAvailable ? await session.sftp(signal) : undefined
  const helper = shell === undefined ? undefined : await session.helper(signal)
  const home = parseRemotePath(shell?.home ?? '/')
  return {
    sftpStat: sftp === undefined ? null : await median(REQUESTS, () => sftp.stat('/', signal)),
    shellQuestion: helper === undefined ? null : await median(REQUESTS, () => helper.run(':', { signal })),
    command: shell === undefined ? null : await median(COMMANDS, () => command(machine, home)),
  }
}

/** A command as Presence runs the agent's: in a folder, in a group of its own, with a lifeline. */
async function command(machine: Machine, folder: ReturnType<typeof parseRemotePath>): Promise<void> {
  const process = new RemoteProcess(
    machine,
    { argv: ['true'], folder, env: {}, input: 'none', graceMs: 1000 },
    (_session, request) => request,
  )
  process.stdout.resume()
  process.stderr.resume()
  await process.done
}

/** The first one warms up and does not count. */
async function median(count: number, request: () => Promise<unknown>): Promise<number> {
  await request()
  const times: number[] = []
  for (let at = 0; at < count; at += 1) {
    const began = performance.now()
    await request()
    times.push(performance.now() - began)
  }
  const middle = times.toSorted((one, other) => one - other)[Math.floor(count / 2)] ?? 0
  return Math.round(middle * 100) / 100
}
