/**
 * What carries the bytes of one SSH connection: a TCP socket, a channel of a jump host, or the standard
 * streams of a proxy command. Owns nothing but this contract.
 */
import type { Duplex } from 'node:stream'

export interface Carrier {
  readonly stream: Duplex
  /** Where it leads, for a person: address and port, and through what. */
  readonly address: string
  /** Resolves when it is over: only then everything is known that `fate` can tell. */
  readonly ended: Promise<void>
  /** Why it broke, where it knows more than that the stream ended. */
  fate(): string | undefined
  /** End it and all that it stands on. Safe to call again. */
  close(): void
}
