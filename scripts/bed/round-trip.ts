/** What one round trip over TCP takes: the unit in which delays are told. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from '../project/checkout.ts'
import { startChild, type Child } from '../project/children.ts'

export interface EchoServer {
  readonly host: string
  readonly port: number
  stop(): Promise<void>
}

/** @param within argv that puts it at the far end of a bed. */
export async function startEcho(host: string, within: readonly string[] = []): Promise<EchoServer> {
  const argv = [...within, process.execPath, join(ROOT, 'scripts', 'bed', 'echo.ts'), host]
  const child: Child = await startChild(argv)
  const { stdout } = child.process
  if (stdout === null) throw new Error('the echo server has no output to tell its port on')
  const ended = child.ended.then(() => Promise.reject(new Error('the echo server did not start')))
  ended.catch((_stoppedLater: unknown) => undefined)
  const [port] = (await Promise.race([once(createInterface(stdout), 'line'), ended])) as [string]
  return { host, port: Number(port), stop: () => child.stop() }
}

/** Milliseconds of each of `times` small requests on one connection, one after another. */
export async function roundTrips(server: EchoServer, times: number): Promise<number[]> {
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
