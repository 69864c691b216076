/** What one round trip over TCP takes: the unit in which delays are told. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { startFarServer, type FarServer } from './far-server.ts'

/** @param within argv that puts it at the far end of a bed. */
export function startEcho(host: string, within: readonly string[] = []): Promise<FarServer> {
  return startFarServer('echo.ts', host, within)
}

/** Milliseconds of each of `times` small requests on one connection, one after another. */
export async function roundTrips(server: FarServer, times: number): Promise<number[]> {
  const socket = connect({ host: server.host, port: server.port, noDelay: true })
  await once(socket, 'connect')
  const taken: number[] = []
  while (taken.length < times) {
    const began = performance.now()
    socket.write('.')
    await once(socket, 'data')
    taken.push(performance.now() - began)
  }
  socket.destroy()
  return taken
}
