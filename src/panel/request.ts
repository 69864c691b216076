/**
 * A request and an answer as plain data. The panel works on these alone, so that whatever carrier the
 * host offers needs only a thin adapter.
 */

/** Who is at the other end, as far as the carrier knows. */
export type Peer =
  /** A socket of ours to judge: its remote address. */
  | { readonly kind: 'socket'; readonly address: string | undefined }
  /** The host has authenticated the caller before handing the request on. */
  | { readonly kind: 'admitted' }

export interface PanelRequest {
  readonly method: string
  /** The path of the request line without its query, neither decoded nor normalised. */
  readonly path: string
  readonly query: URLSearchParams
  /** Every value of every header as it came; names in lower case. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly peer: Peer
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal
  /** The body; may be begun once, and leaving it early must not end the carrier. */
  body(): AsyncIterable<Uint8Array>
}

export interface PanelResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Any answer of the panel: JSON, never cached, never taken for another type. */
export function jsonResponse(
  status: number,
  value: unknown,
  more: Readonly<Record<string, string>> = {},
): PanelResponse {
  return {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      ...more,
    },
    body: JSON.stringify(value),
  }
}

/** The one value of a header; undefined when it is absent, null when it was sent several times. */
export function soleHeader(request: PanelRequest, name: string): string | undefined | null {
  const values = request.headers.get(name) ?? []
  return values.length > 1 ? null : values[0]
}
