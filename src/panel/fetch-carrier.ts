/** The panel behind a `(Request) → Response` handler, as hosts with a login of their own offer it. */
import type { Panel } from './panel.ts'
import type { PanelRequest } from './request.ts'

export function fetchHandler(panel: Panel): (request: Request) => Promise<Response> {
  return async (request) => {
    const answer = await panel.handle(plainRequest(request))
    return new Response(answer.body, { status: answer.status, headers: answer.headers })
  }
}

function plainRequest(request: Request): PanelRequest {
  const url = new URL(request.url)
  const headers = new Map<string, readonly string[]>()
  request.headers.forEach((value, name) => headers.set(name, [value]))
  // A carrier without HTTP sets no Host header; the address it asked for is then the name it used.
  if (!headers.has('host')) headers.set('host', [url.host])
  return {
    method: request.method,
    path: url.pathname,
    query: url.searchParams,
    headers,
    peer: { kind: 'admitted' },
    signal: request.signal,
    body: () => request.body ?? emptyBody(),
  }
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
