import { expect, test } from 'vitest'
import { isLoopbackAddress, isLoopbackName, parseAuthority } from '../../src/panel/fence.ts'
import { rawRequest, startPanel } from './server.ts'

const session = 'GET /api/presence/session HTTP/1.1'

test.each([
  ['Host: localhost'],
  ['Host: LOCALHOST:8080'],
  ['Host: 127.0.0.1'],
  ['Host: 127.1.2.3:65535'],
  ['Host: [::1]'],
  ['Host: [::1]:9'],
])('lets a loopback name pass: %s', async (host) => {
  await using server = await startPanel()
  expect((await rawRequest(server.tcpPort, session, host)).status).toBe(200)
})

test.each([
  ['Host: evil.example'],
  ['Host: localhost.evil.example'],
  ['Host: evil-localhost'],
  ['Host: localhost.'],
  ['Host: user@localhost'],
  ['Host: localhost@evil.example'],
  ['Host: 127.0.0.1.evil.example'],
  ['Host: 127.0.0.256'],
  ['Host: 127.0.0.01'],
  ['Host: 127.1'],
  ['Host: 2130706433'],
  ['Host: 0.0.0.0'],
  ['Host: 192.168.1.4'],
  ['Host: [::]'],
  ['Host: [::1'],
  ['Host: ::1'],
  ['Host: [fe80::1]'],
  ['Host: localhost:0'],
  ['Host: localhost:65536'],
  ['Host: localhost:'],
  ['Host: localhost:80:80'],
  ['Host: localhost/x'],
  ['Host: localhost, evil.example'],
  ['Host: '],
])('refuses a Host that is no loopback name: %s', async (host) => {
  await using server = await startPanel()
  const answer = await rawRequest(server.tcpPort, session, host)
  expect(answer.status).toBe(403)
  expect(answer.text).toContain('"code":"forbidden"')
  expect(answer.text).not.toContain('secret')
})

test('refuses a request that names two hosts, whichever comes first', async () => {
  await using server = await startPanel()
  for (const hosts of [
    ['Host: localhost', 'Host: evil.example'],
    ['Host: evil.example', 'Host: localhost'],
    ['Host: localhost', 'Host: localhost'],
  ]) {
    expect((await rawRequest(server.tcpPort, session, ...hosts)).status).toBe(403)
  }
})

test('refuses a request of the old protocol that names no host', async () => {
  await using server = await startPanel()
  expect((await rawRequest(server.tcpPort, 'GET /api/presence/session HTTP/1.0')).status).toBe(403)
})

test.each([
  ['localhost:81', 'Origin: http://localhost:81'],
  ['localhost', 'Origin: http://localhost'],
  ['localhost', 'Origin: http://localhost:80'],
  ['localhost:443', 'Origin: https://localhost'],
  ['[::1]:81', 'Origin: http://[::1]:81'],
])('lets a page of this very address pass: Host %s, %s', async (host, origin) => {
  await using server = await startPanel()
  expect((await rawRequest(server.tcpPort, session, `Host: ${host}`, origin)).status).toBe(200)
})

test.each([
  ['Origin: http://evil.example'],
  ['Origin: http://localhost:82'],
  ['Origin: http://127.0.0.1:81'],
  ['Origin: https://localhost'],
  ['Origin: null'],
  ['Origin: file://'],
  ['Origin: http://localhost:81/'],
  ['Origin: http://user@localhost:81'],
  ['Origin: ftp://localhost:81'],
  ['Origin: '],
])('refuses a page of another address: %s', async (origin) => {
  await using server = await startPanel()
  expect((await rawRequest(server.tcpPort, session, 'Host: localhost:81', origin)).status).toBe(403)
})

test('refuses two Origin headers, even when one of them is right', async () => {
  await using server = await startPanel()
  const origins = ['Origin: http://localhost:81', 'Origin: http://evil.example']
  expect((await rawRequest(server.tcpPort, session, 'Host: localhost:81', ...origins)).status).toBe(403)
})

test.each([
  ['cross-site', 403],
  ['same-site', 403],
  ['CROSS-SITE', 403],
  ['same-origin', 200],
  ['none', 200],
])('judges what the browser says about the page: sec-fetch-site %s gets %i', async (site, status) => {
  await using server = await startPanel()
  const answer = await rawRequest(server.tcpPort, session, 'Host: localhost', `Sec-Fetch-Site: ${site}`)
  expect(answer.status).toBe(status)
})

test('knows the addresses of this computer as Node prints them', () => {
  const own = ['127.0.0.1', '127.255.0.3', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1']
  const foreign = [
    undefined,
    '',
    '10.0.0.1',
    '::ffff:10.0.0.1',
    '::',
    '::127.0.0.1',
    '1127.0.0.1',
    '127.0.0.1.1',
  ]
  expect(own.map(isLoopbackAddress)).toEqual(own.map(() => true))
  expect(foreign.map(isLoopbackAddress)).toEqual(foreign.map(() => false))
})

test('takes a Host apart and keeps nothing that is not a name and a port', () => {
  expect(parseAuthority('Example.COM:8080')).toEqual({ name: 'example.com', port: 8080 })
  expect(parseAuthority('[::1]')).toEqual({ name: '[::1]', port: undefined })
  expect(parseAuthority('a b')).toBeUndefined()
  expect(parseAuthority('-a')).toBeUndefined()
  expect(isLoopbackName('[::1]')).toBe(true)
  expect(isLoopbackName('::1')).toBe(false)
})
