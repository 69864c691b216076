/**
 * The connections of an embedded machine: who may log in, and which channel gets which service.
 * Commands are `command.ts`, files are `sftp/`.
 */
import { timingSafeEqual } from 'node:crypto'
import ssh2, { type AuthContext, type Connection, type Session } from 'ssh2'
import { Command } from './command.ts'
import { serveSftp } from './sftp/service.ts'

export interface Account {
  readonly user: string
  /** One line of an authorized_keys file. */
  readonly publicKey: string
  readonly home: string
  readonly environment: Readonly<Record<string, string>>
  readonly maxSessions: number
}

/** What ssh2 1.17 has and its type declarations leave out: small answers are not to wait for an ACK. */
interface QuickConnection extends Connection {
  setNoDelay(on: boolean): void
}

/** Variables a client may set, as Debian's sshd_config has it. */
const ACCEPTED_VARIABLES = /^(LANG|LC_[A-Z]+)$/

export class Connections {
  readonly #account: Account
  readonly #key: ReturnType<typeof parsePublicKey>
  readonly #clients = new Set<Connection>()
  readonly #commands = new Set<Command>()

  constructor(account: Account) {
    this.#account = account
    this.#key = parsePublicKey(account.publicKey)
  }

  /** `software` is what the client calls itself in its identification. */
  accept(client: Connection, software: string): void {
    this.#clients.add(client)
    ;(client as QuickConnection).setNoDelay(true)
    client.on('authentication', (attempt) => {
      if (this.#mayLogIn(attempt)) attempt.accept()
      else attempt.reject(['publickey'])
    })
    let sessions = 0
    client.on('session', (accept, reject) => {
      if (sessions >= this.#account.maxSessions) {
        reject()
        return
      }
      sessions += 1
      const session = accept()
      session.on('close', () => (sessions -= 1))
      this.#serve(session, software)
    })
    // A client that goes away without a word (reset, wrong protocol) is the client's business.
    client.on('error', (_clientFailure) => undefined)
    client.on('close', () => this.#clients.delete(client))
  }

  /** Cut all connections and end all commands with everything they started. */
  async endAll(): Promise<void> {
    const closed = [...this.#clients].map(
      (client) =>
        new Promise<void>((resolve) => {
          client.on('close', resolve)
          client.end()
        }),
    )
    const ended = [...this.#commands].map((command) => command.end())
    await Promise.all([...closed, ...ended])
  }

  /** What can be done while the process is leaving. */
  killCommands(): void {
    for (const command of this.#commands) command.kill('SIGKILL')
  }

  #mayLogIn(attempt: AuthContext): boolean {
    if (attempt.method !== 'publickey' || attempt.username !== this.#account.user) return false
    const allowed = this.#key.getPublicSSH()
    if (attempt.key.data.length !== allowed.length || !timingSafeEqual(attempt.key.data, allowed))
      return false
    // Without a signature the client only asks whether this key would do.
    if (attempt.signature === undefined || attempt.blob === undefined) return true
    return this.#key.verify(attempt.blob, attempt.signature, attempt.hashAlgo) === true
  }

  #serve(session: Session, software: string): void {
    const variables: Record<string, string> = {}
    session.on('env', (accept, reject, { key, val }) => {
      if (!ACCEPTED_VARIABLES.test(key)) return reject?.()
      variables[key] = val
      accept?.()
    })
    session.on('exec', (accept, _reject, { command }) => {
      const running = new Command(accept(), command, {
        cwd: this.#account.home,
        env: { ...variables, ...this.#account.environment },
      })
      this.#commands.add(running)
      void running.gone.then(() => this.#commands.delete(running))
      session.on('signal', (_accept, _rejectSignal, { name }) => running.kill(`SIG${name}` as NodeJS.Signals))
    })
    session.on('subsystem', (accept, reject, { name }) => {
      if (name !== 'sftp') return reject()
      void serveSftp(accept(), { home: this.#account.home, openSshClient: software.startsWith('OpenSSH') })
    })
  }
}

function parsePublicKey(line: string): ssh2.ParsedKey {
  const parsed = ssh2.utils.parseKey(line)
  if (parsed instanceof Error) throw parsed
  return parsed
}
