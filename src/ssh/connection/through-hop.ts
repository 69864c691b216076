/** A connection that a jump host makes for us. It stands on the connection to that host and ends with it. */
import { messageOf } from '../../base/failure.ts'
import type { WayOut } from '../../base/race.ts'
import type { MachineSettings } from '../config/settings.ts'
import { ChannelError, ConnectError, LinkLostError } from '../errors.ts'
import type { Carrier } from './carrier.ts'
import type { Link } from './link.ts'

/**
 * The jump host's connection belongs to the carrier from now on, and is ended with it.
 * @throws ConnectError `unreachable` at stage `proxy`; what `ways` throw.
 */
export async function throughHop(
  hop: Link,
  { alias, host, port }: MachineSettings,
  ways: readonly WayOut[],
): Promise<Carrier> {
  const details = { machine: alias, stage: 'proxy' as const }
  try {
    const stream = await hop.forward(host, port, ways)
    // The listener of the connection comes later, and goes with it; the stream may fail before and after.
    stream.on('error', (_toldByTheConnection) => undefined)
    return {
      stream,
      address: `${host}:${port} through ${hop.machine} (${hop.facts.address})`,
      ended: new Promise((resolve) => stream.once('close', () => resolve())),
      fate: () => (hop.alive ? undefined : `the connection to the jump host is gone: ${reasonOf(hop)}`),
      close: () => {
        stream.destroy()
        hop.end()
      },
    }
  } catch (error) {
    if (error instanceof ChannelError) {
      throw new ConnectError(`its jump host ${error.message}`, 'unreachable', { ...details, cause: error })
    }
    if (!(error instanceof LinkLostError)) throw error
    throw new ConnectError(`the connection to its jump host is gone: ${error.message}`, 'unreachable', {
      ...details,
      cause: error,
    })
  }
}

function reasonOf(hop: Link): string {
  return messageOf(hop.dead.reason)
}
