/** What one round trip over TCP takes: the unit in which delays are told. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { ROOT } from '../project/checkout.ts'
import { run } from '../project/children.ts'
import { startFarServer, type FarServer } from './far-server.ts'

/** @param within argv that puts it at the far end of a bed. */
export function startEcho(host: string, within: readonly string[] = []): Promise<FarServer> {
  return startFarServer('echo.ts', host, within)
}

type EchoAddress = Pick<FarServer, 'host' | 'port'>

/** Milliseconds of each of `times` small requests on one connection, one after another. */
export async function roundTrips(server: EchoAddress, times: number): Promise<number[]> {
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

/** The same from a process of its own, when this one is too busy to look at the clock in time. */
export async function roundTripsFromOutside(server: EchoAddress, times: number): Promise<number[]> {
  const script = join(ROOT, 'scripts', 'bed', 'ask.ts')
  const argv = [process.execPath, script, server.host, String(server.port), String(times)]
  const { code, stdout, stderr } = await run(argv)
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr.trim()}`)
  return JSON.parse(stdout) as number[]
}
