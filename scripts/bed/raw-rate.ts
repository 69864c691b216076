/** How fast bytes alone come over a line by TCP: what no transfer over it can exceed. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { startFarServer, type FarServer } from './far-server.ts'

/** Written at once. */
const PIECE = Buffer.alloc(256 * 1024, 'pour')

/** @param within argv that puts it at the far end of a bed. */
export function startPour(host: string, within: readonly string[] = []): Promise<FarServer> {
  return startFarServer('pour.ts', host, within)
}

/** Milliseconds in which so many bytes come from the server, on a connection of their own. */
export async function poured(server: FarServer, direction: 'from' | 'to', bytes: number): Promise<number> {
  const socket = connect({ host: server.host, port: server.port, noDelay: true })
  await once(socket, 'connect')
  const began = performance.now()
  if (direction === 'from') {
    socket.write(`get ${bytes}\n`)
    await arrived(socket, bytes)
  } else {
    socket.write(`put ${bytes}\n`)
    const answered = arrived(socket, 1)
    await pour(socket, bytes)
    await answered
  }
  const ms = performance.now() - began
  socket.destroy()
  return ms
}

/** Write so many bytes, as fast as they are taken. */
export async function pour(socket: Socket, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; left -= PIECE.length) {
    if (!socket.write(PIECE.subarray(0, left))) await once(socket, 'drain')
  }
}

async function arrived(socket: Socket, bytes: number): Promise<void> {
  let got = 0
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    got += chunk.length
    if (got >= bytes) return
  }
  throw new Error(`the connection ended after ${got} of ${bytes} bytes`)
}
