/** Passes on what a background job prints, from where it was left, as long as one connection lives. */
import type { PassThrough, Readable } from 'node:stream'
import { callerLeaves, diesWith, pause, race } from '../../base/race.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import { LinkLostError } from '../../ssh/errors.ts'
import { flow } from '../process/flow.ts'
import type { MachineSession } from '../session.ts'
import { startScript } from '../shell/command-line.ts'
import { FOLLOW_JOB } from '../shell/job-scripts.ts'
import { MarkedStream, randomMark } from '../shell/marked.ts'
import { openScript } from '../shell/open-script.ts'

/** One stream of a job on this side. */
export interface Outlet {
  readonly stream: PassThrough
  /** Bytes of the job's stream that were passed on; the next one is number `passed`, counted from 0. */
  passed: number
}

/** A channel that is closed on both sides has nothing more to give after that long, in milliseconds. */
const SETTLE_MS = 1000

/**
 * Returns when nothing more comes by this way: the job has ended, or what followed it on the machine has. What
 * was passed on is counted in any case, so that the next call goes on behind it.
 * @param which - `rest`: the job has ended, and only what it has left is wanted.
 * @returns false when the machine has no such job.
 * @throws LinkLostError; ChannelError; CancelledError when `signal` fires.
 */
export async function followJob(
  session: MachineSession,
  folder: RemotePath,
  out: Outlet,
  err: Outlet,
  which: 'live' | 'rest',
  signal: AbortSignal,
): Promise<boolean> {
  const mark = randomMark()
  const from = [out, err].map(({ passed }) => String(passed + 1))
  const start = startScript(
    FOLLOW_JOB,
    [mark, folder, ...from, which === 'rest' ? 'rest' : ''],
    session.requireShell().loginShell,
  )
  session.commands.emit('begins')
  const channel = await openScript(session.exec, start, { signal, lasting: true })
  const { owner } = channel
  let header: string | undefined
  const lanes = [
    lane(channel.stdout, out, mark, (line) => (header = line)),
    lane(channel.stderr, err, mark, () => undefined),
  ]
  try {
    const settled = channel.closed.then(() => pause(SETTLE_MS))
    const ended = Promise.all(lanes.map((each) => each.ended))
    await race(
      () => Promise.race([ended, settled]),
      [...callerLeaves(signal, `following a job on ${session.machine}`), diesWith(owner.dead)],
    )
  } finally {
    // What comes after this is not counted, so it must not be passed on either.
    for (const each of lanes) each.leave()
    channel.close()
    session.commands.emit('ended')
  }
  if (header === undefined) {
    throw new LinkLostError('what follows a background job did not start', { machine: session.machine })
  }
  return header !== 'gone'
}

function lane(
  from: Readable,
  outlet: Outlet,
  mark: string,
  onHeader: (line: string) => void,
): { readonly ended: Promise<void>; leave(): void } {
  const marked = new MarkedStream(mark, onHeader, (chunk) => {
    outlet.passed += chunk.length
    flow(from, outlet.stream, chunk)
  })
  const hear = (chunk: Buffer): void => marked.push(chunk)
  const ended = new Promise<void>((resolve) => from.once('end', resolve))
  from.on('data', hear)
  return {
    ended,
    leave: () => {
      from.off('data', hear)
      from.resume()
    },
  }
}
