/**
 * The parts of the host that the panel is mounted on, by shape. Hosts differ between versions, so each
 * service is probed for the method it is needed for, and none of their packages is imported.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** A Cordis context, as far as it is used here. */
export interface HostContext {
  get(service: string): unknown
  /** Run `use` whenever all services are there; what it installs goes when one of them goes. */
  inject(services: string[], use: (scope: HostContext) => void): unknown
  /** Install now, undo when the scope ends. */
  effect(install: () => () => unknown, label?: string): unknown
  readonly logger: { warn(message: unknown): void }
}

/** `webServer`: every host up to now, except a desktop shell without HTTP. */
export interface WebServer {
  register(route: {
    readonly kind: 'exact' | 'prefix'
    readonly path: string
    readonly handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  }): () => void
}

/** `connection.fetch` (0.1.6 and later): exact routes under `/api`, behind the host's own login. */
export interface FetchRoutes {
  register(route: {
    readonly path: string
    readonly methods: readonly string[]
    readonly requestBody: 'buffered'
    readonly fetch: (request: Request) => Promise<Response>
  }): () => unknown
}

/**
 * Something went wrong that no page is told of. Written to the terminal as well: the host's logger may
 * have no sink (0.1.0-rc.8 has none).
 */
export function tell(scope: HostContext, what: string, fault: unknown): void {
  scope.logger.warn(fault)
  console.error(`presence panel: ${what}`, fault)
}

export function webServerOf(scope: HostContext): WebServer | undefined {
  const service = scope.get('webServer')
  return hasMethod(service, 'register') ? (service as unknown as WebServer) : undefined
}

export function fetchRoutesOf(scope: HostContext): FetchRoutes | undefined {
  const connection = scope.get('connection')
  if (!isObject(connection)) return undefined
  const routes = connection['fetch']
  return hasMethod(routes, 'register') ? (routes as unknown as FetchRoutes) : undefined
}

/**
 * The host's own gate for routes outside its `/api` carrier, where it has one: the status to refuse
 * with, or undefined. A gate that fails stays shut.
 */
export function gateOf(scope: HostContext): ((request: IncomingMessage) => number | undefined) | undefined {
  const connection = scope.get('connection')
  if (!hasMethod(connection, 'requestRejection')) return undefined
  return (request) => {
    try {
      const status: unknown = connection['requestRejection'](request)
      if (status === undefined) return undefined
      return typeof status === 'number' ? status : 403
    } catch (fault) {
      tell(scope, "the host's own gate failed", fault)
      return 503
    }
  }
}

type Callable = (...values: unknown[]) => unknown

function isObject(value: unknown): value is Record<string, unknown> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null
}

function hasMethod<Name extends string>(value: unknown, name: Name): value is Record<Name, Callable> {
  return isObject(value) && typeof value[name] === 'function'
}
