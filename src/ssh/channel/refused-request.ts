/**
 * Closes what ssh2 leaves open. When a server opens a channel and then refuses what was asked for on it (no
 * such service, no commands), ssh2 reports the refusal and keeps the channel, which nobody can close any more:
 * each of them would hold one of the few sessions that the server allows. The only file that looks into
 * ssh2's own list of channels, and only to find that one.
 */
import type { Client } from 'ssh2'

/** The server closed a channel instead of saying whether it does what was asked for on it; ssh2 tells no difference. */
export class ChannelClosed extends Error {}

/**
 * Ask for a channel.
 * @param ask - calls one method of `client` that opens exactly one channel.
 * @returns closes that channel, to be called once what was asked for on it has failed; false when the server
 * has closed it already.
 */
export function askedOn(client: Client, ask: () => void): () => boolean {
  const known = new Set(Object.keys(channelsOf(client)))
  ask()
  const id = Object.keys(channelsOf(client)).find((one) => !known.has(one))
  return () => {
    const channel = id === undefined ? undefined : channelsOf(client)[id]
    if (!isOpenChannel(channel)) return false
    channel.close()
    return true
  }
}

/** @throws when ssh2 is another one than the one this was written for. */
export function channelsOf(client: object): Readonly<Record<string, unknown>> {
  const manager: unknown = '_chanMgr' in client ? client._chanMgr : undefined
  const kept: unknown =
    typeof manager === 'object' && manager !== null && '_channels' in manager ? manager._channels : undefined
  if (typeof kept === 'object' && kept !== null) return kept as Readonly<Record<string, unknown>>
  throw new Error('this ssh2 does not keep its channels where Presence knows them (ssh2 1.17)')
}

function isOpenChannel(channel: unknown): channel is { close(): void } {
  return (
    typeof channel === 'object' &&
    channel !== null &&
    'close' in channel &&
    typeof channel.close === 'function'
  )
}
