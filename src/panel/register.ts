/**
 * Mounting the panel on whatever the host offers: exact routes behind the host's login where there are
 * such, prefix routes on its web server otherwise. Waits for the services, so that a profile without
 * them still starts.
 */
import { fetchHandler } from './fetch-carrier.ts'
import { fetchRoutesOf, gateOf, tell, webServerOf, type FetchRoutes, type HostContext } from './host.ts'
import { nodeHandler } from './node-carrier.ts'
import { createPanel, type Panel, type PanelOptions } from './panel.ts'
import type { PanelPort } from './port.ts'
import { operations, PREFIXES } from './routes.ts'

/** `/api/presence/*`, in every host; its alias only where no login stands before `/api`. */
const [API_PREFIX, ALIAS_PREFIX] = PREFIXES

export function registerPanel(
  ctx: HostContext,
  port: PanelPort,
  options: Pick<PanelOptions, 'version'>,
): void {
  const report = (fault: unknown): void => tell(ctx, 'a call failed', fault)
  const panel = createPanel(port, { ...options, report })
  ctx.inject(['connection'], (scope) => {
    const routes = fetchRoutesOf(scope)
    if (routes !== undefined && registerExact(scope, panel, routes)) return
    const loginStandsBefore = routes !== undefined
    scope.inject(['webServer'], (web) => registerPrefixes(web, panel, loginStandsBefore))
  })
}

/** @returns false when this host's exact routes cannot carry the panel (some builds take GET only). */
function registerExact(scope: HostContext, panel: Panel, routes: FetchRoutes): boolean {
  const handler = fetchHandler(panel)
  const undo: (() => unknown)[] = []
  try {
    for (const { operation, methods } of operations()) {
      const carried = methods.filter((method) => method === 'GET' || method === 'POST')
      const path = `${API_PREFIX}/${operation}`
      undo.push(routes.register({ path, methods: carried, requestBody: 'buffered', fetch: handler }))
    }
  } catch (refusal) {
    for (const remove of undo) void remove()
    tell(scope, 'this host has exact routes but refused them; using its web server', refusal)
    return false
  }
  scope.effect(
    () => async () => {
      for (const remove of undo) await remove()
    },
    'presence: panel routes',
  )
  return true
}

function registerPrefixes(scope: HostContext, panel: Panel, loginStandsBefore: boolean): void {
  const server = webServerOf(scope)
  const gate = gateOf(scope)
  if (server === undefined || (loginStandsBefore && gate === undefined)) {
    tell(scope, 'not mounted', new Error('this host offers no route that the panel could stand on'))
    return
  }
  const handler = nodeHandler(panel, gate)
  for (const path of loginStandsBefore ? [API_PREFIX] : [API_PREFIX, ALIAS_PREFIX]) {
    scope.effect(() => server.register({ kind: 'prefix', path, handler }), `presence: panel at ${path}`)
  }
}
