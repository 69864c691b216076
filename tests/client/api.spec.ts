import { expect, test } from 'vitest'
import { ApiError, createApi } from '../../src/client/api.ts'
import { nodeHandler } from '../../src/panel/node-carrier.ts'
import { createPanel } from '../../src/panel/panel.ts'
import { PlaceError } from '../../src/places/errors.ts'
import { MemoryPort, sampleRoot } from '../panel/memory-port.ts'
import { listen, startPanel } from '../panel/server.ts'

const never = new AbortController().signal

async function failureOf(work: Promise<unknown>): Promise<Partial<ApiError>> {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  expect(error).toBeInstanceOf(ApiError)
  const { code, message, stage } = error as ApiError
  return { code, message, stage }
}

test('reads the session once for all calls, also when they begin at the same time', async () => {
  const asked: string[] = []
  const port = new MemoryPort([{ name: 'web-1', root: sampleRoot() }])
  const handler = nodeHandler(createPanel(port, { version: '1', report: () => undefined }))
  const server = await listen((request, response) => {
    asked.push(request.url ?? '')
    void handler(request, response)
  })
  const api = createApi(`${server.origin}/`)
  await Promise.all([api.machines(never), api.workspaces(never), api.connect('web-1')])
  const made = await api.change({ host: 'web-1', path: '/srv/app' })
  expect(await api.browse('web-1', '/srv', never)).toMatchObject({ parent: '/' })
  expect(await api.remove(made)).toMatchObject({ path: '/srv/app' })
  expect(asked.filter((url) => url.endsWith('/session'))).toHaveLength(1)
  await server.close()
})

test('finds the API below the path that the host is mounted on', async () => {
  const asked: string[] = []
  const server = await listen((request, response) => {
    asked.push(request.url ?? '')
    response.end('{"secret":"s","version":"1"}')
  })
  await createApi(`${server.origin}/behind/a/proxy/`).machines(never)
  expect(asked).toEqual(['/behind/a/proxy/api/presence/session', '/behind/a/proxy/api/presence/machines'])
  await server.close()
})

test('reads the session anew once after a refusal, and then believes it', async () => {
  const asked: string[] = []
  const server = await listen((request, response) => {
    asked.push(request.url ?? '')
    const session = request.url?.endsWith('/session') === true
    response.writeHead(session ? 200 : 403)
    response.end(session ? '{"secret":"s"}' : '{"error":{"code":"forbidden","message":"no"}}')
  })
  expect(await failureOf(createApi(`${server.origin}/`).machines(never))).toMatchObject({ code: 'forbidden' })
  expect(asked).toHaveLength(4)
  await server.close()
})

test('does not take a place that is forbidden on the machine for a refused page', async () => {
  await using server = await startPanel()
  server.port.failNext(
    'browse',
    new PlaceError('/root may not be read', 'permission-denied', { machine: 'web-1' }),
  )
  const failure = await failureOf(createApi(`${server.origin}/`).browse('web-1', '/root', never))
  expect(failure).toMatchObject({ code: 'permission-denied', message: 'web-1: /root may not be read' })
  expect(server.port.calls).toEqual(['browse web-1:/root'])
})

test('tells a host that does not answer from one that answers nonsense', async () => {
  const server = await listen((_request, response) => response.writeHead(502).end('<html>bad gateway</html>'))
  const api = createApi(`${server.origin}/`)
  expect(await failureOf(api.machines(never))).toMatchObject({ code: 'bad-answer', message: 'HTTP 502' })
  await server.close()
  expect(await failureOf(api.machines(never))).toMatchObject({ code: 'offline' })
})

test('asks for the session again after it could not be read', async () => {
  let broken = true
  const server = await listen((_request, response) => {
    response.writeHead(broken ? 500 : 200).end(broken ? '{}' : '{"secret":"s","machines":[]}')
  })
  const api = createApi(`${server.origin}/`)
  expect(await failureOf(api.machines(never))).toMatchObject({ code: 'bad-answer' })
  broken = false
  expect(await api.machines(never)).toEqual([])
  await server.close()
})

test('rejects an aborted call as aborted and nothing else', async () => {
  await using server = await startPanel()
  server.port.stall('connect')
  const leave = new AbortController()
  const calling = createApi(`${server.origin}/`).connect('web-1', leave.signal)
  await expect.poll(() => server.port.calls).toEqual(['connect web-1'])
  leave.abort()
  await expect(calling).rejects.toMatchObject({ name: 'AbortError' })
})
