/**
 * Which way the content of a file takes: what is small goes among the other small requests, at once; bulk goes
 * over a channel of its own where there is one, and never more at once than the line bears.
 */
import type { SftpChannel } from '../../../ssh/channel/sftp.ts'
import type { Flow } from '../../../ssh/connection/flow.ts'
import type { MachineSession } from '../../session.ts'

/** What goes among the small requests: as much as one request moves. */
const SMALL_BYTES = 255 * 1024
/** On a channel that small requests use too, they wait for what was asked for before them. */
const SHARED_BYTES = 1024 * 1024
const SHARED_PIECE = 64 * 1024

/** Whether so much goes among the small requests. */
export function isSmall(bytes: number): boolean {
  return bytes <= SMALL_BYTES
}

/** A channel for one transfer. */
export interface Lane {
  readonly sftp: SftpChannel
  /** What bounds the bytes under way; undefined: they are few. */
  readonly flow: Flow | undefined
  /** Small requests use another channel. */
  readonly apart: boolean
  /** Bytes that may be on their way or wait for their user now. */
  room(): number
  /** Bytes of one request now. */
  piece(): number
  /** To be called once, when the transfer is over. */
  release(): void
}

export async function takeLane(
  session: MachineSession,
  direction: 'down' | 'up',
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<Lane> {
  if (isSmall(bytes)) {
    const sftp = await session.sftp(signal)
    const longest = longestOf(sftp, direction)
    return { sftp, flow: undefined, apart: false, room: () => SMALL_BYTES, piece: () => longest, release }
  }
  const lease = await session.bulkSftp(bytes, signal)
  const flow = session.link.flows[direction]
  const longest = Math.min(longestOf(lease.sftp, direction), lease.shared ? SHARED_PIECE : Infinity)
  const piece = (): number => Math.min(flow.piece, longest)
  return {
    sftp: lease.sftp,
    flow,
    apart: !lease.shared,
    // A little more than the flow lets go, so that it always has something to let go.
    room: () => Math.min(flow.limit, lease.shared ? SHARED_BYTES : Infinity) + 2 * piece(),
    piece,
    release: () => lease.release(),
  }
}

function longestOf({ longest }: SftpChannel, direction: 'down' | 'up'): number {
  return direction === 'down' ? longest.read : longest.write
}

function release(): void {
  // The channel for small requests is nobody's.
}
