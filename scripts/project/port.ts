/** Ports on loopback: finding a free one, and waiting until an SSH server answers on one. */
import { createServer, connect, type AddressInfo } from 'node:net'

/** A port that was free a moment ago. Another program may take it before it is used. */
export function freePort(): Promise<number> {
  return listenBriefly(0)
}

/** @throws when another program listens on the port. */
export async function assertFree(port: number): Promise<void> {
  await listenBriefly(port).catch((cause: unknown) => {
    throw new Error(`port ${port} is in use by another program; choose one with --port`, { cause })
  })
}

async function listenBriefly(wanted: number): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(wanted, '127.0.0.1', resolve)
  })
  const { port } = probe.address() as AddressInfo
  await new Promise<void>((resolve) => probe.close(() => resolve()))
  return port
}

/** Resolve to the server's identification line, or undefined while nobody answers as an SSH server. */
export function sshIdentification(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let seen = ''
    const settle = (line: string | undefined): void => {
      socket.destroy()
      resolve(line)
    }
    socket.setTimeout(1000, () => settle(undefined))
    socket.on('error', (_refused) => settle(undefined))
    socket.on('end', () => settle(undefined))
    socket.on('data', (chunk) => {
      seen += chunk.toString('latin1')
      if (seen.includes('\n')) settle(/^SSH-[^\r\n]+/m.exec(seen)?.[0])
    })
  })
}
