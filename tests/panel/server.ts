/// <reference lib="esnext.disposable" />
/** A real HTTP server with the panel on it, dispatching by prefix as the host's web server does. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { nodeHandler } from '../../src/panel/node-carrier.ts'
import { createPanel } from '../../src/panel/panel.ts'
import { MemoryPort, sampleRoot } from './memory-port.ts'

export interface PanelServer extends AsyncDisposable {
  readonly port: MemoryPort
  readonly origin: string
  readonly tcpPort: number
  /** Faults that reached the log. */
  readonly reported: unknown[]
  /** The secret, as a page of this origin reads it. */
  secret(): Promise<string>
  /** A call with everything right about it. */
  call(method: string, operation: string, body?: unknown): Promise<Response>
}

export async function startPanel(
  options: { port?: MemoryPort; bodyDeadlineMs?: number } = {},
): Promise<PanelServer> {
  const port = options.port ?? new MemoryPort([{ name: 'web-1', root: sampleRoot() }])
  const reported: unknown[] = []
  const { bodyDeadlineMs } = options
  const panel = createPanel(port, {
    version: '1.2.3',
    report: (fault) => reported.push(fault),
    ...(bodyDeadlineMs === undefined ? {} : { bodyDeadlineMs }),
  })
  const handler = nodeHandler(panel)
  const { origin, tcpPort, close } = await listen((request, response) => void handler(request, response))
  const secret = async (): Promise<string> => {
    const answer = (await (await fetch(`${origin}/api/presence/session`)).json()) as { secret: string }
    return answer.secret
  }
  const call = async (method: string, operation: string, body?: unknown): Promise<Response> =>
    fetch(`${origin}/api/presence/${operation}`, {
      method,
      headers: { 'x-presence-secret': await secret(), 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return { port, origin, tcpPort, reported, secret, call, [Symbol.asyncDispose]: close }
}

export async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ origin: string; tcpPort: number; close: () => Promise<void> }> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.closeAllConnections()
      server.close((error) => (error === undefined ? resolve() : reject(error)))
    })
  return { origin: `http://127.0.0.1:${port}`, tcpPort: port, close }
}

/** Send bytes as they are and read the whole answer; for requests that no client would make. */
export async function rawRequest(
  tcpPort: number,
  ...lines: string[]
): Promise<{ status: number; text: string }> {
  const socket = connect(tcpPort, '127.0.0.1')
  socket.end(`${[...lines, 'connection: close', '', ''].join('\r\n')}`)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), text }
}
