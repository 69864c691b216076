import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { ErrorView } from '../../src/wire/api.ts'
import { rawRequest, startPanel } from './server.ts'

const json = { 'content-type': 'application/json' }

async function errorOf(answer: Response): Promise<ErrorView['error'] & { status: number }> {
  return { status: answer.status, ...((await answer.json()) as ErrorView).error }
}

/** A request whose body stops in the middle. */
function halfRequest(secret: string): string {
  return [
    'POST /api/presence/machines/connect HTTP/1.1',
    'Host: localhost',
    'content-type: application/json',
    'content-length: 20',
    `x-presence-secret: ${secret}`,
    '',
    '{"ho',
  ].join('\r\n')
}

test('hands the session to a page of this address and asks every other call for its secret', async () => {
  await using server = await startPanel()
  const session = await fetch(`${server.origin}/api/presence/session`)
  expect(await session.json()).toEqual({
    secret: expect.stringMatching(/^[\w-]{43}$/) as unknown,
    version: '1.2.3',
  })
  for (const [method, operation] of [
    ['GET', 'machines'],
    ['POST', 'machines/connect'],
    ['GET', 'workspaces'],
    ['POST', 'workspaces'],
    ['DELETE', 'workspaces'],
    ['POST', 'workspaces/remove'],
    ['GET', 'browse?host=web-1&path=/'],
    ['GET', 'file?host=web-1&path=/etc/hostname'],
  ] as const) {
    const refused = await errorOf(
      await fetch(`${server.origin}/api/presence/${operation}`, { method, headers: json }),
    )
    expect(refused).toMatchObject({ status: 403, code: 'forbidden' })
  }
  expect(server.port.calls).toEqual([])
})

test('takes only the whole secret of this run, sent once', async () => {
  await using server = await startPanel()
  await using other = await startPanel()
  const secret = await server.secret()
  const wrong = ['', secret.slice(0, -1), `${secret}x`, secret.toUpperCase(), await other.secret()]
  for (const value of wrong) {
    const answer = await fetch(`${server.origin}/api/presence/machines`, {
      headers: { 'x-presence-secret': value },
    })
    expect(answer.status).toBe(403)
  }
  const header = `x-presence-secret: ${secret}`
  const line = 'GET /api/presence/machines HTTP/1.1'
  expect((await rawRequest(server.tcpPort, line, 'Host: localhost', header)).status).toBe(200)
  expect((await rawRequest(server.tcpPort, line, 'Host: localhost', header, header)).status).toBe(403)
})

test('answers under both of its addresses, and under nothing that only resembles them', async () => {
  await using server = await startPanel()
  const at = async (path: string): Promise<number> =>
    (await rawRequest(server.tcpPort, `GET ${path} HTTP/1.1`, 'Host: localhost')).status
  expect(await at('/api/presence/session')).toBe(200)
  expect(await at('/presence/api/session')).toBe(200)
  expect(await at('/presence/api/session?x=1?y')).toBe(200)
  for (const path of [
    '/api/presence',
    '/api/presence/',
    '/api/presence/session/',
    '/api/presence/Session',
    '/api/presence/%73ession',
    '/api/presence/../presence/session',
    '/api/presencesession',
    '//api/presence/session',
    '/api/presence/constructor',
    'http://localhost/api/presence/session',
  ]) {
    expect([path, await at(path)]).toEqual([path, 404])
  }
})

test('says which methods an address has, and refuses HEAD and OPTIONS', async () => {
  await using server = await startPanel()
  for (const method of ['PUT', 'PATCH', 'HEAD', 'OPTIONS', 'POST']) {
    const answer = await fetch(`${server.origin}/api/presence/session`, { method })
    expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'GET'])
  }
  const answer = await fetch(`${server.origin}/api/presence/workspaces`, { method: 'OPTIONS' })
  expect(answer.headers.get('allow')).toBe('GET, POST, DELETE')
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
})

test('marks every answer, good or bad, as JSON that is neither cached nor sniffed', async () => {
  await using server = await startPanel()
  const answers = [
    await server.call('GET', 'machines'),
    await fetch(`${server.origin}/api/presence/machines`),
    await fetch(`${server.origin}/api/presence/nothing`),
    await fetch(`${server.origin}/api/presence/session`, { method: 'PUT' }),
  ]
  expect(answers.map((answer) => answer.status)).toEqual([200, 403, 404, 405])
  for (const answer of answers) {
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    await answer.json()
  }
})

test.each([
  ['text/plain'],
  ['application/x-www-form-urlencoded'],
  ['application/json; charset=utf-16'],
  ['application/json, text/plain'],
  ['application/jsonp'],
])('refuses a body that is sent as %s, which another page could send unasked', async (type) => {
  await using server = await startPanel()
  const headers = { 'x-presence-secret': await server.secret(), 'content-type': type }
  const answer = await fetch(`${server.origin}/api/presence/machines/connect`, {
    method: 'POST',
    headers,
    body: '{"host":"web-1"}',
  })
  expect(await errorOf(answer)).toMatchObject({ status: 415, code: 'not-json' })
  expect(server.port.calls).toEqual([])
})

test('takes JSON with its charset named', async () => {
  await using server = await startPanel()
  const headers = {
    'x-presence-secret': await server.secret(),
    'content-type': 'application/json; charset="UTF-8"',
  }
  const body = '{"host":"web-1"}'
  const answer = await fetch(`${server.origin}/api/presence/machines/connect`, {
    method: 'POST',
    headers,
    body,
  })
  expect(answer.status).toBe(200)
})

test.each([
  ['nothing', ''],
  ['half of an object', '{"host":'],
  ['text', '"web-1"'],
  ['a list', '[]'],
  ['null', 'null'],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
])('refuses a body that holds %s', async (_what, body) => {
  await using server = await startPanel()
  const headers = { ...json, 'x-presence-secret': await server.secret() }
  const answer = await fetch(`${server.origin}/api/presence/machines/connect`, {
    method: 'POST',
    headers,
    body,
  })
  expect(await errorOf(answer)).toMatchObject({ status: 400, code: 'bad-request' })
})

test('refuses a body that is too large, and the connection goes on serving', async () => {
  await using server = await startPanel()
  const answer = await server.call('POST', 'workspaces', { host: 'web-1', path: `/${'x'.repeat(70_000)}` })
  expect(await errorOf(answer)).toMatchObject({ status: 413, code: 'too-large' })
  expect((await server.call('GET', 'machines')).status).toBe(200)
})

test('refuses a body that grows too large without having said how long it is', async () => {
  await using server = await startPanel()
  const headers = { ...json, 'x-presence-secret': await server.secret(), 'transfer-encoding': 'chunked' }
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const sending = httpRequest(
    `${server.origin}/api/presence/workspaces`,
    { method: 'POST', headers },
    (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    },
  )
  sending.on('error', reject)
  for (let sent = 0; sent < 5; sent += 1) sending.write(' '.repeat(20_000))
  sending.end('{}')
  expect(await promise).toBe(413)
})

test('stops waiting for a body that does not come', async () => {
  await using server = await startPanel({ bodyDeadlineMs: 50 })
  const secret = await server.secret()
  const socket = connect(server.tcpPort, '127.0.0.1')
  socket.write(halfRequest(secret))
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  expect(text).toMatch(/^HTTP\/1\.1 408 /)
  expect(text).toContain('"code":"too-slow"')
  expect(server.port.calls).toEqual([])
})

test('survives a caller that breaks off in the middle of a body', async () => {
  await using server = await startPanel()
  const secret = await server.secret()
  const socket = connect(server.tcpPort, '127.0.0.1')
  await new Promise((resolve) => socket.once('ready', resolve))
  const sent = new Promise((resolve) => socket.write(halfRequest(secret), resolve))
  await sent
  socket.resetAndDestroy()
  expect((await server.call('GET', 'machines')).status).toBe(200)
  expect(server.reported).toEqual([])
})

test('lets the core know when the caller of a long call has gone', async () => {
  await using server = await startPanel()
  server.port.stall('connect')
  const left = new AbortController()
  const headers = { ...json, 'x-presence-secret': await server.secret() }
  const calling = fetch(`${server.origin}/api/presence/machines/connect`, {
    method: 'POST',
    headers,
    body: '{"host":"web-1"}',
    signal: left.signal,
  })
  await expect.poll(() => server.port.calls).toEqual(['connect web-1'])
  left.abort()
  await expect(calling).rejects.toThrow('aborted')
  await expect.poll(() => server.port.calls).toEqual(['connect web-1', 'connect left'])
})
