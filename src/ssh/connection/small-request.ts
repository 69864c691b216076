/** A request that every server answers and none acts upon: a sign of life, and something to send. */
import type { Client } from 'ssh2'

/**
 * Cancel a forwarding that was never asked for. The answer is a refusal, and does not matter.
 * @throws when the connection has ended.
 */
export function askForNothing(client: Client, answered: () => void): void {
  client.unforwardIn('127.0.0.1', 1, (_refused) => answered())
}
