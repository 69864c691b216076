/**
 * Keeps the window of a channel that we receive on wide. ssh2 gives every channel 2 MiB and refills them when
 * half is used up, so that a long line carries about 1 MiB a round trip, whatever was asked for. What SFTP
 * receives is bounded by what it asked for and needs no other bound. The only file that knows where ssh2 keeps
 * a window; it looks before it touches, and a channel that looks otherwise stays as ssh2 made it.
 */

/** More than is ever asked for at once, so that the server never waits for a refill. */
const WINDOW_BYTES = 12 * 1024 * 1024
/** Refilled when so much is used up: seldom enough to cost nothing. */
const REFILL_BYTES = 512 * 1024

/** What is used of ssh2's channel beyond its public type. */
interface Windowed {
  /** How much the server may still send. */
  readonly incoming: { window: number }
  readonly outgoing: { readonly id: number; readonly state: string }
  readonly _client: { readonly _protocol: { channelWindowAdjust(channel: number, bytes: number): void } }
}

/** @returns to be called whenever something came: refills the window. */
export function widened(channel: object): () => void {
  if (!isWindowed(channel)) return () => undefined
  const { incoming, outgoing } = channel
  const refill = (): void => {
    const bytes = WINDOW_BYTES - incoming.window
    if (bytes < REFILL_BYTES || outgoing.state === 'closing' || outgoing.state === 'closed') return
    incoming.window += bytes
    channel._client._protocol.channelWindowAdjust(outgoing.id, bytes)
  }
  refill()
  return refill
}

function isWindowed(channel: object): channel is Windowed {
  const { incoming, outgoing, _client: client } = channel as Partial<Record<keyof Windowed, unknown>>
  return (
    has(incoming, 'window', 'number') &&
    has(outgoing, 'id', 'number') &&
    has(outgoing, 'state', 'string') &&
    isObject(client) &&
    '_protocol' in client &&
    has(client._protocol, 'channelWindowAdjust', 'function')
  )
}

function has(value: unknown, name: string, type: 'number' | 'string' | 'function'): boolean {
  return isObject(value) && typeof (value as Readonly<Record<string, unknown>>)[name] === type
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
