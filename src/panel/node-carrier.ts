/** The panel behind a `node:http` handler: request to plain data, answer to bytes. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Panel } from './panel.ts'
import type { PanelRequest, PanelResponse } from './request.ts'

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * `refuse` is the host's own gate where it has one: a status refuses the request before the panel sees
 * it, undefined admits it.
 */
export function nodeHandler(
  panel: Panel,
  refuse?: (request: IncomingMessage) => number | undefined,
): NodeHandler {
  return async (request, response) => {
    const status = refuse?.(request)
    if (status !== undefined) {
      response.writeHead(status, { 'cache-control': 'no-store' }).end()
      return
    }
    const gone = new AbortController()
    response.once('close', () => {
      if (!response.writableFinished) gone.abort(new Error('the caller has gone'))
    })
    send(response, await panel.handle(plainRequest(request, gone.signal)))
  }
}

function plainRequest(request: IncomingMessage, signal: AbortSignal): PanelRequest {
  const [path = '', ...query] = (request.url ?? '').split('?')
  return {
    method: request.method ?? '',
    path,
    query: new URLSearchParams(query.join('?')),
    headers: headersOf(request),
    peer: { kind: 'socket', address: request.socket.remoteAddress },
    signal,
    // Leaving the loop of an over-long body must not tear down the socket the answer goes out on.
    body: () => request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>,
  }
}

/** Node folds or drops a repeated header; the fence has to see every one. */
function headersOf(request: IncomingMessage): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, string[]>()
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    const name = (request.rawHeaders[at] ?? '').toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), request.rawHeaders[at + 1] ?? ''])
  }
  return headers
}

function send(response: ServerResponse, answer: PanelResponse): void {
  if (response.destroyed || response.writableEnded) return
  response.writeHead(answer.status, {
    ...answer.headers,
    'content-length': String(Buffer.byteLength(answer.body)),
  })
  response.end(answer.body)
}
