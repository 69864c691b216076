import { expect, test } from 'vitest'
import { CancelledError, PresenceError } from '../../src/base/failure.ts'
import { PlaceError } from '../../src/places/errors.ts'
import { ConnectError, LinkLostError, type SshErrorCode } from '../../src/ssh/errors.ts'
import type { Api, ErrorView } from '../../src/wire/api.ts'
import { MemoryPort, sampleRoot } from './memory-port.ts'
import { startPanel } from './server.ts'

async function errorOf(answer: Response): Promise<ErrorView['error'] & { status: number }> {
  return { status: answer.status, ...((await answer.json()) as ErrorView).error }
}

test('lists machines as they are without connecting to any, and connects when it is asked to', async () => {
  await using server = await startPanel()
  const idle = (await (await server.call('GET', 'machines')).json()) as Api['GET machines']
  expect(idle.machines).toEqual([{ name: 'web-1', source: 'config', state: { kind: 'idle' } }])
  const answer = (await (
    await server.call('POST', 'machines/connect', { host: 'web-1', extra: true })
  ).json()) as Api['POST machines/connect']
  expect(answer.machine).toMatchObject({
    name: 'web-1',
    state: { kind: 'ready' },
    facts: { home: '/home/dev' },
  })
})

test('makes, lists, makes current and forgets workspaces', async () => {
  await using server = await startPanel()
  const make = async (path: string): Promise<Api['POST workspaces']> =>
    (await (
      await server.call('POST', 'workspaces', { host: 'web-1', path })
    ).json()) as Api['POST workspaces']
  const first = (await make('/srv/app')).workspace
  const second = (await make('/srv//data/')).workspace
  expect(second).toMatchObject({ path: '/srv/data', title: 'web-1:/srv/data', active: false })
  expect(await make('/srv/app')).toEqual({ workspace: first })

  await server.call('POST', 'workspaces', { activate: second.marker })
  const listed = (await (await server.call('GET', 'workspaces')).json()) as Api['GET workspaces']
  expect(listed.workspaces.map(({ path, active }) => [path, active])).toEqual([
    ['/srv/app', false],
    ['/srv/data', true],
  ])
  await server.call('POST', 'workspaces', { activate: first.id })

  const place = { host: 'web-1', path: '/srv/app' }
  expect(await (await server.call('DELETE', 'workspaces', place)).json()).toMatchObject({
    removed: { ...place, active: true },
  })
  expect(await errorOf(await server.call('DELETE', 'workspaces', place))).toMatchObject({
    status: 404,
    code: 'unknown-workspace',
  })
  expect((await server.call('POST', 'workspaces/remove', { host: 'web-1', path: '/srv/data' })).status).toBe(
    200,
  )
  expect(await (await server.call('GET', 'workspaces')).json()).toEqual({ workspaces: [] })
  const gone = await server.call('POST', 'workspaces', { activate: first.id })
  expect(await errorOf(gone)).toMatchObject({ status: 404, code: 'unknown-workspace' })
})

test('gives a workspace the title that was asked for, and its own when that is blank', async () => {
  await using server = await startPanel()
  const make = async (path: string, title: unknown): Promise<Response> =>
    server.call('POST', 'workspaces', { host: 'web-1', path, title })
  expect(await (await make('/srv/app', '  The app ')).json()).toMatchObject({
    workspace: { title: 'The app' },
  })
  expect(await (await make('/srv/data', '  ')).json()).toMatchObject({
    workspace: { title: 'web-1:/srv/data' },
  })
  for (const title of [7, 'two\nlines', 'x'.repeat(201), '\u202e\u0007']) {
    expect(await errorOf(await make('/etc', title))).toMatchObject({ status: 400, code: 'bad-request' })
  }
})

test('browses a folder and reads a file', async () => {
  await using server = await startPanel()
  const folder = await server.call('GET', 'browse?host=web-1&path=/srv/app')
  expect(await folder.json()).toEqual({
    host: 'web-1',
    path: '/srv/app',
    parent: '/srv',
    entries: [
      { name: 'src', type: 'directory' },
      { name: 'Makefile', type: 'file', size: 5 },
    ],
    truncated: false,
  })
  expect(await (await server.call('GET', 'browse?host=web-1&path=/')).json()).toMatchObject({
    path: '/',
    parent: null,
  })
  const file = await server.call('GET', `file?host=web-1&path=${encodeURIComponent('/etc/hostname')}`)
  expect(await file.json()).toMatchObject({ size: 6, text: 'web-1\n', truncated: false })
})

test('reaches names that only an encoded address can carry', async () => {
  const strange = 'a b&c=d#e?f%41+\u00e9\u4e2d.txt'
  const port = new MemoryPort([{ name: 'web-1', root: { [strange]: 'found' } }])
  await using server = await startPanel({ port })
  const query = new URLSearchParams({ host: 'web-1', path: `/${strange}` }).toString()
  expect(await (await server.call('GET', `file?${query}`)).json()).toMatchObject({ text: 'found' })
})

test.each([
  ['empty', ''],
  ['blank', '  '],
  ['relative', 'srv/app'],
  ['of the home folder', '~/app'],
  ['of another system', 'C:\\app'],
  ['with a NUL', '/srv/\0app'],
  ['with a segment that goes up', '/srv/../etc'],
  ['that only goes up', '/..'],
  ['too long', `/${'x'.repeat(4096)}`],
  ['too long in bytes alone', `/${'\u4e2d'.repeat(1366)}`],
  ['with half a character', '/srv/\ud800'],
])('refuses a path that is %s, before the core hears of it', async (_what, path) => {
  await using server = await startPanel()
  const made = await errorOf(await server.call('POST', 'workspaces', { host: 'web-1', path }))
  expect(made).toMatchObject({ status: 400, code: 'bad-path' })
  expect(made.message.length).toBeLessThan(300)
  // The last one cannot be written in an address: encoding it already puts a replacement there.
  if (path.isWellFormed()) {
    const query = new URLSearchParams({ host: 'web-1', path }).toString()
    expect(await errorOf(await server.call('GET', `browse?${query}`))).toMatchObject({
      status: 400,
      code: 'bad-path',
    })
  }
  expect(server.port.calls).toEqual([])
})

test('takes dots that are part of a name', async () => {
  const port = new MemoryPort([{ name: 'web-1', root: { '..data': {}, 'a..b': {}, '...': {} } }])
  await using server = await startPanel({ port })
  for (const name of ['..data', 'a..b', '...']) {
    expect((await server.call('GET', `browse?host=web-1&path=/${name}`)).status).toBe(200)
  }
})

test.each([
  ['no host', 'browse?path=/'],
  ['no path', 'browse?host=web-1'],
  ['two hosts', 'browse?host=web-1&host=web-2&path=/'],
  ['two paths', 'browse?host=web-1&path=/&path=/etc'],
  ['an empty host', 'browse?host=&path=/'],
  ['a host with a line break', 'browse?host=a%0Ab&path=/'],
])('refuses an address with %s', async (_what, operation) => {
  await using server = await startPanel()
  expect(await errorOf(await server.call('GET', operation))).toMatchObject({
    status: 400,
    code: 'bad-request',
  })
})

test.each([
  [{ path: '/srv' }],
  [{ host: 7, path: '/srv' }],
  [{ host: ['web-1'], path: '/srv' }],
  [{ host: 'x'.repeat(256), path: '/srv' }],
  [{ host: 'web-1' }],
  [{ host: 'web-1', path: ['/srv'] }],
  [{ activate: 7 }],
  [{ activate: '' }],
  [{ activate: null }],
  [{}],
])('refuses a body of the wrong shape: %j', async (body) => {
  await using server = await startPanel()
  expect(await errorOf(await server.call('POST', 'workspaces', body))).toMatchObject({
    status: 400,
    code: 'bad-request',
  })
})

const places = [
  ['not-found', 404],
  ['not-a-directory', 409],
  ['not-a-file', 409],
  ['permission-denied', 403],
  ['bad-path', 400],
  ['unknown-workspace', 404],
] as const

test.each(places)('tells a page that a place is %s', async (code, status) => {
  await using server = await startPanel()
  server.port.failNext('browse', new PlaceError('/srv/x is not for you', code, { machine: 'web-1' }))
  const failed = await errorOf(await server.call('GET', 'browse?host=web-1&path=/srv/x'))
  expect(failed).toEqual({ status, code, message: 'web-1: /srv/x is not for you', machine: 'web-1' })
})

const connections: readonly [SshErrorCode, number, string][] = [
  ['unknown-machine', 404, 'unknown-machine'],
  ['bad-config', 502, 'bad-config'],
  ['unsupported', 502, 'unsupported'],
  ['unreachable', 502, 'unreachable'],
  ['connect-timeout', 504, 'timeout'],
  ['not-ssh', 502, 'unreachable'],
  ['crowded', 503, 'unavailable'],
  ['no-common-algorithm', 502, 'unsupported'],
  ['host-key-unknown', 502, 'host-key'],
  ['host-key-changed', 502, 'host-key'],
  ['host-key-revoked', 502, 'host-key'],
  ['auth-failed', 502, 'auth'],
  ['question-unanswered', 502, 'auth'],
  ['closed', 503, 'unavailable'],
]

test.each(connections)('tells a page how a connection failed: %s', async (code, status, told) => {
  await using server = await startPanel()
  server.port.failNext(
    'connect',
    new ConnectError('it went wrong', code, { machine: 'web-1', stage: 'auth' }),
  )
  const failed = await errorOf(await server.call('POST', 'machines/connect', { host: 'web-1' }))
  expect(failed).toEqual({
    status,
    code: told,
    message: 'web-1: it went wrong',
    machine: 'web-1',
    stage: 'auth',
  })
})

test('counts an unanswered question about a host key as a matter of the host key', async () => {
  await using server = await startPanel()
  const details = { machine: 'web-1', stage: 'host-key' } as const
  server.port.failNext('connect', new ConnectError('nobody answered', 'question-unanswered', details))
  const failed = await errorOf(await server.call('POST', 'machines/connect', { host: 'web-1' }))
  expect(failed).toMatchObject({ code: 'host-key', stage: 'host-key' })
})

test.each([
  [
    'a lost link',
    new LinkLostError('the line broke', { machine: 'web-1', outcomeUnknown: true }),
    502,
    'unreachable',
  ],
  ['a refusal of another layer', new PresenceError('not now', 'refused'), 503, 'unavailable'],
  ['time that ran out in another layer', new PresenceError('too long', 'cancelled'), 504, 'timeout'],
  ['a cancelled call', new CancelledError('browse'), 503, 'cancelled'],
] as const)('keeps apart what failed: %s', async (_what, fault, status, code) => {
  await using server = await startPanel()
  server.port.failNext('browse', fault)
  const failed = await errorOf(await server.call('GET', 'browse?host=web-1&path=/'))
  expect(failed).toMatchObject({ status, code, message: fault.message })
  expect(server.reported).toEqual([])
})

test.each([
  ['an error of a program', new TypeError('secret detail at /home/user/code.ts')],
  ['text', 'secret detail'],
  ['nothing', undefined],
])('keeps a fault of its own to the log when the core throws %s', async (_what, fault) => {
  await using server = await startPanel()
  server.port.failNext('machines', fault)
  const answer = await server.call('GET', 'machines')
  const text = await answer.text()
  expect(answer.status).toBe(500)
  expect(text).toContain('"code":"internal"')
  expect(text).not.toContain('secret detail')
  expect(text).not.toContain('.ts')
  expect(server.reported).toEqual([fault])
})

test('answers the names of objects as it answers any other machine that is not there', async () => {
  await using server = await startPanel({ port: new MemoryPort([{ name: 'web-1', root: sampleRoot() }]) })
  const failed = await errorOf(await server.call('POST', 'machines/connect', { host: '__proto__' }))
  expect(failed).toMatchObject({ status: 404, code: 'unknown-machine', machine: '__proto__' })
})
