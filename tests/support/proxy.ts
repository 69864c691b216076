/** A TCP proxy on loopback that can fall silent or cut its connections, for faults of the net. */
import { connect, createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export interface Proxy {
  readonly port: number
  /** Hold everything back in both directions from now on; new connections are accepted and hear nothing. */
  freeze(): void
  /** Pass on again, beginning with what was held back. */
  thaw(): void
  /** Cut every connection with a reset. */
  reset(): void
  /** Connections that are open now. */
  readonly connections: number
  close(): Promise<void>
}

export async function startProxy(target: { readonly host: string; readonly port: number }): Promise<Proxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let frozen = false
  const server = createServer((near) => {
    const far = connect({ ...target, noDelay: true })
    near.setNoDelay(true)
    const pair = [near, far] as const
    pairs.add(pair)
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (chunk) => void to.write(chunk))
      from.on('end', () => void to.end())
      from.on('error', () => void to.destroy())
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    pass(near, far)
    pass(far, near)
    if (frozen) for (const socket of pair) socket.pause()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return pairs.size
    },
    freeze: () => {
      frozen = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    thaw: () => {
      frozen = false
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    reset: () => {
      for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy()
    },
    close: () =>
      new Promise((resolve) => {
        for (const pair of pairs) for (const socket of pair) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
