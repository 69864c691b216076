/** The table of the panel's routes. Its type makes it complete: one handler for each line of `Api`. */
import type { Api } from '../wire/api.ts'
import { RequestError } from './errors.ts'
import { browseFolder, readFile } from './handlers/browse.ts'
import type { Handler } from './handlers/call.ts'
import { connectMachine, listMachines } from './handlers/machines.ts'
import { readSession } from './handlers/session.ts'
import { changeWorkspaces, listWorkspaces, removeWorkspace } from './handlers/workspaces.ts'

/** The same routes stand under each of these. */
export const PREFIXES = ['/api/presence', '/presence/api'] as const

type Routes = { readonly [Key in keyof Api]: Handler<Api[Key]> }

const ROUTES: Routes = {
  'GET session': readSession,
  'GET machines': listMachines,
  'POST machines/connect': connectMachine,
  'GET workspaces': listWorkspaces,
  'POST workspaces': changeWorkspaces,
  'DELETE workspaces': removeWorkspace,
  'POST workspaces/remove': removeWorkspace,
  'GET browse': browseFolder,
  'GET file': readFile,
}

export interface Route {
  readonly method: string
  readonly operation: string
  /** True for the one route that hands out the secret instead of asking for it. */
  readonly withoutSecret: boolean
  readonly handle: Handler<unknown>
}

const TABLE: readonly Route[] = Object.entries(ROUTES).map(([key, handle]) => {
  const [method = '', operation = ''] = key.split(' ')
  return { method, operation, withoutSecret: key === 'GET session', handle }
})

/** Each operation and its methods, for hosts that want exact routes. */
export function operations(): readonly { readonly operation: string; readonly methods: readonly string[] }[] {
  return [...new Set(TABLE.map((route) => route.operation))].map((operation) => ({
    operation,
    methods: TABLE.filter((route) => route.operation === operation).map((route) => route.method),
  }))
}

/**
 * The route for a method and a path as it stands in the request line.
 * @throws RequestError `unknown-route`, or `method-not-allowed` with the methods there are
 */
export function findRoute(method: string, path: string): Route {
  const prefix = PREFIXES.find((candidate) => path.startsWith(`${candidate}/`))
  const operation = prefix === undefined ? undefined : path.slice(prefix.length + 1)
  const routes = TABLE.filter((route) => route.operation === operation)
  if (routes.length === 0) throw new RequestError('Presence has no such address.', 'unknown-route')
  const route = routes.find((candidate) => candidate.method === method)
  if (route !== undefined) return route
  const allow = routes.map((candidate) => candidate.method).join(', ')
  throw new RequestError(`Only ${allow} can be used here.`, 'method-not-allowed', { headers: { allow } })
}
