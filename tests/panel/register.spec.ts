import type { IncomingMessage, ServerResponse } from 'node:http'
import { Context, Service } from '@deepseek-ai/cordis'
import { expect, test } from 'vitest'
import { registerPanel } from '../../src/panel/register.ts'
import { MemoryPort, sampleRoot } from './memory-port.ts'
import { listen } from './server.ts'

type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>
type FetchHandler = (request: Request) => Promise<Response>

/** The host's web server, by its contract: longest prefix wins, a second owner is refused. */
class WebServerService extends Service {
  readonly prefixes = new Map<string, NodeHandler>()

  constructor(ctx: Context) {
    super(ctx, 'webServer')
  }

  register(route: { kind: string; path: string; handler: NodeHandler }): () => void {
    if (this.prefixes.has(route.path)) throw new Error(`duplicate ${route.path}`)
    this.prefixes.set(route.path, route.handler)
    return () => this.prefixes.delete(route.path)
  }

  async status(path: string): Promise<number> {
    const { origin, close } = await listen((request, response) => {
      const prefix = [...this.prefixes.keys()].find((candidate) => path.startsWith(`${candidate}/`))
      const handler = prefix === undefined ? undefined : this.prefixes.get(prefix)
      if (handler === undefined) response.writeHead(404).end()
      else void handler(request, response)
    })
    const { status } = await fetch(`${origin}${path}`)
    await close()
    return status
  }
}

class ConnectionService extends Service {
  constructor(ctx: Context, members: object) {
    super(ctx, 'connection')
    Object.assign(this, members)
  }
}

/** The exact routes of a host with a login. */
class ExactRoutes {
  readonly routes = new Map<string, { methods: readonly string[]; fetch: FetchHandler }>()
  readonly #accepts: readonly string[]

  constructor(accepts: readonly string[]) {
    this.#accepts = accepts
  }

  register(route: { path: string; methods: readonly string[]; fetch: FetchHandler }): () => Promise<void> {
    const refused = route.methods.find((method) => !this.#accepts.includes(method))
    if (refused !== undefined) throw new TypeError(`method ${refused} is not supported`)
    this.routes.set(route.path, route)
    return () => {
      this.routes.delete(route.path)
      return Promise.resolve()
    }
  }

  async call(
    method: string,
    url: string,
    init: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response> {
    const route = this.routes.get(new URL(url).pathname)
    if (!route?.methods.includes(method)) return new Response(null, { status: 404 })
    return route.fetch(new Request(url, { method, ...init }))
  }
}

function root(): { ctx: Context; warnings: unknown[] } {
  const ctx = new Context()
  const warnings: unknown[] = []
  Object.defineProperty(ctx, 'logger', { value: { warn: (message: unknown) => warnings.push(message) } })
  return { ctx, warnings }
}

/** The plugin entry does no more than this. */
function mount(ctx: Context): { dispose(): unknown } {
  const port = new MemoryPort([{ name: 'web-1', root: sampleRoot() }])
  const apply = (scope: Context): void => registerPanel(scope, port, { version: '1.2.3' })
  return ctx.plugin({ name: 'presence', apply }) as unknown as { dispose(): unknown }
}

test('mounts both addresses on the web server of a host without exact routes, and takes them down again', async () => {
  const { ctx } = root()
  await ctx.plugin(WebServerService)
  await ctx.plugin(ConnectionService, { rpc: {} })
  const server = ctx.get('webServer') as unknown as WebServerService
  const presence = mount(ctx)
  await expect.poll(() => [...server.prefixes.keys()]).toEqual(['/api/presence', '/presence/api'])
  expect(await server.status('/api/presence/session')).toBe(200)
  expect(await server.status('/presence/api/session')).toBe(200)
  await presence.dispose()
  expect([...server.prefixes.keys()]).toEqual([])
})

test('waits for services that come later, and asks for none that never come', async () => {
  const { ctx, warnings } = root()
  mount(ctx)
  await ctx.plugin(ConnectionService, { rpc: {} })
  await ctx.plugin(WebServerService)
  const server = ctx.get('webServer') as unknown as WebServerService
  await expect.poll(() => [...server.prefixes.keys()]).toEqual(['/api/presence', '/presence/api'])
  expect(warnings).toEqual([])
})

test('prefers the exact routes of a host that has a login, and then stands nowhere outside of it', async () => {
  const { ctx } = root()
  const exact = new ExactRoutes(['GET', 'HEAD', 'POST'])
  await ctx.plugin(WebServerService)
  await ctx.plugin(ConnectionService, { fetch: exact })
  const server = ctx.get('webServer') as unknown as WebServerService
  const presence = mount(ctx)
  await expect.poll(() => exact.routes.size).toBe(7)
  expect(exact.routes.get('/api/presence/workspaces')?.methods).toEqual(['GET', 'POST'])
  expect(server.prefixes.size).toBe(0)

  const base = 'http://localhost:8080/api/presence'
  const { secret } = (await (await exact.call('GET', `${base}/session`)).json()) as { secret: string }
  const headers = { 'x-presence-secret': secret, 'content-type': 'application/json' }
  const place = JSON.stringify({ host: 'web-1', path: '/srv/app' })
  expect((await exact.call('POST', `${base}/workspaces`, { headers, body: place })).status).toBe(200)
  expect((await exact.call('POST', `${base}/workspaces/remove`, { headers, body: place })).status).toBe(200)
  expect((await exact.call('POST', `${base}/machines/connect`, { headers })).status).toBe(400)
  expect((await exact.call('GET', `${base}/machines`)).status).toBe(403)
  expect((await exact.call('GET', 'http://evil.example/api/presence/session')).status).toBe(403)
  const forged = { headers: { ...headers, host: 'evil.example' } }
  expect((await exact.call('GET', `${base}/machines`, forged)).status).toBe(403)

  await presence.dispose()
  await expect.poll(() => exact.routes.size).toBe(0)
})

test('falls back to the web server behind the gate of a host whose exact routes take no POST', async () => {
  const { ctx, warnings } = root()
  const exact = new ExactRoutes(['GET', 'HEAD'])
  let verdict: () => unknown = () => 401
  await ctx.plugin(WebServerService)
  await ctx.plugin(ConnectionService, { fetch: exact, requestRejection: () => verdict() })
  const server = ctx.get('webServer') as unknown as WebServerService
  mount(ctx)
  await expect.poll(() => [...server.prefixes.keys()]).toEqual(['/api/presence'])
  expect(exact.routes.size).toBe(0)
  expect(String(warnings[0])).toContain('method POST is not supported')

  expect(await server.status('/api/presence/session')).toBe(401)
  verdict = () => ({ reason: 'no cookie' })
  expect(await server.status('/api/presence/session')).toBe(403)
  verdict = () => {
    throw new Error('the gate is broken')
  }
  expect(await server.status('/api/presence/session')).toBe(503)
  verdict = () => undefined
  expect(await server.status('/api/presence/session')).toBe(200)
})

test('stays off a host whose login it could not stand behind', async () => {
  const { ctx, warnings } = root()
  await ctx.plugin(WebServerService)
  await ctx.plugin(ConnectionService, { fetch: new ExactRoutes([]) })
  const server = ctx.get('webServer') as unknown as WebServerService
  mount(ctx)
  await expect.poll(() => warnings.length).toBe(2)
  expect(server.prefixes.size).toBe(0)
})
