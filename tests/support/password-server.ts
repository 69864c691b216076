/** An SSH server that takes one user's password, changeable while it runs, and counts what it is offered. */
import { generateKeyPairSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'

export interface PasswordServer {
  readonly port: number
  /** Passwords offered so far, in order, with the method that carried them. */
  readonly offered: readonly string[]
  password: string
  /** `password`, `keyboard-interactive`, or both. */
  methods: readonly ('password' | 'keyboard-interactive')[]
  close(): Promise<void>
}

export async function startPasswordServer(password: string): Promise<PasswordServer> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const offered: string[] = []
  const connections = new Set<{ end(): unknown }>()
  const state = { password, methods: ['password'] as PasswordServer['methods'] }
  const hostKey = privateKey.export({ type: 'pkcs1', format: 'pem' })
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connections.add(connection)
    connection.on('error', (_aborted) => undefined)
    connection.on('close', () => connections.delete(connection))
    connection.on('authentication', (attempt) => {
      if (attempt.method === 'password' && state.methods.includes('password')) {
        offered.push(`password ${attempt.password}`)
        if (attempt.password === state.password) attempt.accept()
        else attempt.reject([...state.methods])
        return
      }
      if (attempt.method === 'keyboard-interactive' && state.methods.includes('keyboard-interactive')) {
        attempt.prompt([{ prompt: 'Password: ', echo: false }], 'login', '', (answers) => {
          offered.push(`keyboard-interactive ${answers.join()}`)
          if (answers[0] === state.password) attempt.accept()
          else attempt.reject([...state.methods])
        })
        return
      }
      attempt.reject([...state.methods])
    })
    connection.on('ready', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    offered,
    get password() {
      return state.password
    },
    set password(value) {
      state.password = value
    },
    get methods() {
      return state.methods
    },
    set methods(value) {
      state.methods = value
    },
    close: () =>
      new Promise((resolve) => {
        for (const connection of connections) connection.end()
        server.close(() => resolve())
      }),
  }
}
