import type { Readable, Writable } from 'node:stream'

/** Write with back-pressure: a reader that is slow slows the channel, and no buffer grows. */
export function flow(from: Readable, to: Writable, chunk: Buffer): void {
  if (to.write(chunk)) return
  from.pause()
  to.once('drain', () => from.resume())
}
