/** A server whose conversation about authentication is told step by step: what sshd does only with PAM. */
import { generateKeyPairSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import ssh2, { type AuthContext, type Connection } from 'ssh2'
import type { DemoMachine } from '../../scripts/machine/machine.ts'

export interface DanceFloor {
  /** To connect to as to any rig machine. */
  readonly machine: DemoMachine
  /** Methods that were asked for, in order, over all connections. */
  readonly methods: readonly string[]
  /** Cut every connection. */
  cut(): void
  close(): Promise<void>
}

/**
 * @param partner - a rig machine, for its files on the client's side.
 * @param dance - judges each request; called for every connection anew, so that it can keep its own state.
 */
export async function startDance(
  partner: DemoMachine,
  dance: () => (attempt: AuthContext) => void,
): Promise<DanceFloor> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const hostKey = privateKey.export({ type: 'pkcs1', format: 'pem' })
  const methods: string[] = []
  const open = new Set<Connection>()
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    const step = dance()
    open.add(connection)
    connection.on('error', (_cut) => undefined)
    connection.on('close', () => open.delete(connection))
    connection.on('authentication', (attempt) => {
      methods.push(attempt.method)
      step(attempt)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const connection of open) connection.end()
  }
  return {
    machine: { ...partner, port: (server.address() as AddressInfo).port },
    methods,
    cut,
    close: () =>
      new Promise((resolve) => {
        cut()
        server.close(() => resolve())
      }),
  }
}
