/** Agents for tests: the real `ssh-agent`, and sockets that behave as no agent should. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'

export interface TestAgent {
  readonly env: { readonly SSH_AUTH_SOCK: string }
  /** Load private keys, with their certificates where those lie beside them. */
  add(...keyFiles: readonly string[]): void
  /** `ssh-add` with other arguments. */
  run(...args: readonly string[]): string
  close(): Promise<void>
}

export async function startAgent(socket: string, ...args: readonly string[]): Promise<TestAgent> {
  const child = spawn('ssh-agent', ['-D', '-a', socket, ...args], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  while (!existsSync(socket)) await new Promise((resume) => setTimeout(resume, 10))
  const env = { SSH_AUTH_SOCK: socket }
  const run = (...words: readonly string[]): string =>
    execFileSync('ssh-add', words, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }).toString()
  return {
    env,
    run,
    add: (...keyFiles) => void run('-q', ...keyFiles),
    close: async () => {
      child.kill()
      await ended
    },
  }
}

export interface FalseAgent {
  readonly env: { readonly SSH_AUTH_SOCK: string }
  /** Connections that are open now. */
  readonly connections: number
  close(): Promise<void>
}

/** A socket where `answer` gets each request, without its length, and says what is sent back. */
export async function startFalseAgent(
  socket: string,
  answer: (request: Buffer, connection: Socket) => Buffer | undefined,
): Promise<FalseAgent> {
  const open = new Set<Socket>()
  const server: Server = createServer((connection) => {
    open.add(connection)
    connection.on('close', () => open.delete(connection))
    connection.on('error', (_gone) => undefined)
    let received = Buffer.alloc(0)
    connection.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 4 || received.length < 4 + received.readUInt32BE(0)) return
      const reply = answer(received.subarray(4, 4 + received.readUInt32BE(0)), connection)
      received = Buffer.alloc(0)
      if (reply !== undefined) connection.write(reply)
    })
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  return {
    env: { SSH_AUTH_SOCK: socket },
    get connections() {
      return open.size
    },
    close: () =>
      new Promise((resolve) => {
        for (const connection of open) connection.destroy()
        server.close(() => resolve())
      }),
  }
}
