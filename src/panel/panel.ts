/**
 * The panel: one function from a request to an answer. It never rejects, whatever a request holds or
 * the core throws. Owns the order of the checks, the secret, and nothing of HTTP's transport.
 */
import { readJsonObject } from './body.ts'
import { failureResponse } from './errors.ts'
import { checkFence } from './fence.ts'
import type { PanelPort } from './port.ts'
import { jsonResponse, type PanelRequest, type PanelResponse } from './request.ts'
import { findRoute } from './routes.ts'
import { checkSecret, newSecret } from './secret.ts'

export interface PanelOptions {
  /** The version of Presence, for the page. */
  readonly version: string
  /** Hears of faults of Presence's own; they are never told to the page. */
  readonly report: (fault: unknown) => void
  /** How long a body may take, in milliseconds. Default 10 s: it is 64 KiB from this very computer. */
  readonly bodyDeadlineMs?: number
}

export interface Panel {
  handle(request: PanelRequest): Promise<PanelResponse>
}

export function createPanel(port: PanelPort, options: PanelOptions): Panel {
  const session = { secret: newSecret(), version: options.version }
  const bodyDeadlineMs = options.bodyDeadlineMs ?? 10_000

  const answer = async (request: PanelRequest): Promise<PanelResponse> => {
    checkFence(request)
    const route = findRoute(request.method, request.path)
    if (!route.withoutSecret) checkSecret(request, session.secret)
    const { query, signal } = request
    const json = (): Promise<Readonly<Record<string, unknown>>> => readJsonObject(request, bodyDeadlineMs)
    return jsonResponse(200, await route.handle({ port, query, signal, session, json }))
  }

  return {
    handle: async (request) => {
      try {
        return await answer(request)
      } catch (error) {
        return failureResponse(error, options.report)
      }
    },
  }
}
