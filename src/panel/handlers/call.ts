/** What every handler is given: a request that has passed the fence and the secret, and the core. */
import type { PanelPort } from '../port.ts'

export interface Call {
  readonly port: PanelPort
  readonly query: URLSearchParams
  /** Fires when the caller has gone: whoever only waits for this call may leave. */
  readonly signal: AbortSignal
  /** What `GET session` answers. */
  readonly session: { readonly secret: string; readonly version: string }
  /** The body as a JSON object; unknown fields are ignored. @throws RequestError */
  json(): Promise<Readonly<Record<string, unknown>>>
}

export type Handler<Answer> = (call: Call) => Promise<Answer>
