/**
 * Lets a socket of ours send what is written in one turn of the event loop in one go. The transport writes every
 * packet in three pieces, and requests come in bursts: each piece would be a system call and, with no-delay,
 * a segment of its own (measured: 64 `stat` at once on loopback 2.7 ms, in one go 2.3; a read of 128 MiB takes
 * less than half of the processor time). Nothing waits longer than to the end of the turn it was written in.
 */
import type { Socket } from 'node:net'

/** @param socket - connected: Node takes back a method of its own when it connects. */
export function sendInBursts(socket: Socket): void {
  const write = socket.write.bind(socket) as (...what: unknown[]) => boolean
  let gathering = false
  socket.write = (...what: unknown[]): boolean => {
    if (!gathering) {
      gathering = true
      socket.cork()
      // Behind the promises that are ready now: they belong to the same burst.
      process.nextTick(() => {
        gathering = false
        socket.uncork()
      })
    }
    return write(...what)
  }
}
