/** A machine that lets one user in by password, and then offers neither files nor commands. */
import { generateKeyPairSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'

export interface PasswordMachine {
  readonly port: number
  readonly offered: readonly string[]
  stop(): Promise<void>
}

export async function startPasswordMachine(password: string): Promise<PasswordMachine> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const offered: string[] = []
  const open = new Set<{ end(): unknown }>()
  const hostKeys = [privateKey.export({ type: 'pkcs1', format: 'pem' })]
  const server = new ssh2.Server({ hostKeys }, (connection) => {
    open.add(connection)
    connection.on('error', (_aborted) => undefined)
    connection.on('close', () => open.delete(connection))
    connection.on('authentication', (attempt) => {
      if (attempt.method !== 'password') {
        attempt.reject(['password'])
        return
      }
      offered.push(attempt.password)
      if (attempt.password === password) attempt.accept()
      else attempt.reject(['password'])
    })
    connection.on('session', (accept) => {
      const session = accept()
      session.on('exec', (_accept, reject) => reject())
      session.on('sftp', (_accept, reject) => reject())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    offered,
    stop: () =>
      new Promise((resolve) => {
        for (const connection of open) connection.end()
        server.close(() => resolve())
      }),
  }
}
