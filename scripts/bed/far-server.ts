/** A small server of the bed's as a program, at the far end of a line or on this computer. */
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from '../project/checkout.ts'
import { startChild, type Child } from '../project/children.ts'

export interface FarServer {
  readonly host: string
  readonly port: number
  stop(): Promise<void>
}

/**
 * @param script - a file of this folder that takes the address to listen at and prints its port.
 * @param within - argv that puts it at the far end of a bed.
 */
export async function startFarServer(
  script: 'echo.ts' | 'pour.ts',
  host: string,
  within: readonly string[] = [],
): Promise<FarServer> {
  const argv = [...within, process.execPath, join(ROOT, 'scripts', 'bed', script), host]
  const child: Child = await startChild(argv)
  const { stdout } = child.process
  if (stdout === null) throw new Error(`${script} has no output to tell its port on`)
  const ended = child.ended.then(() => Promise.reject(new Error(`${script} did not start`)))
  ended.catch((_stoppedLater: unknown) => undefined)
  const [port] = (await Promise.race([once(createInterface(stdout), 'line'), ended])) as [string]
  return { host, port: Number(port), stop: () => child.stop() }
}
