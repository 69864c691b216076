/** One connection at a time with chosen identities and answers, for tests of authentication. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh, type OpenSshOptions } from '../../scripts/machine/openssh.ts'
import type { AuthSettings, MachineSettings } from '../../src/ssh/config/settings.ts'
import type { Link } from '../../src/ssh/connection/link.ts'
import type { MachineConnection } from '../../src/ssh/connection/machine-connection.ts'
import { ConnectError } from '../../src/ssh/errors.ts'
import { NOBODY, type Answer, type Question } from '../../src/ssh/questions.ts'
import { poolFor, settingsFor } from './rig.ts'

export interface Attempt {
  /** Changes of the settings with which the rig's own key lets us in. */
  readonly auth?: Partial<AuthSettings>
  readonly settings?: Partial<MachineSettings>
  readonly env?: NodeJS.ProcessEnv
  /** What a person answers; nobody is there when absent. */
  readonly answer?: (question: Question, signal: AbortSignal) => Answer | Promise<Answer>
}

export class AuthBench {
  readonly folder = mkdtempSync('/var/tmp/presence-auth-')
  readonly #closing: (() => unknown)[] = []
  #servers = 0

  path(name: string): string {
    return join(this.folder, name)
  }

  /** Closed together with the bench, in reverse order. */
  keep<T extends { close(): unknown }>(thing: T): T {
    this.#closing.push(() => thing.close())
    return thing
  }

  /** A real sshd with lines of its own in its configuration. */
  async sshd(
    sshdConfig: readonly string[] = [],
    options: Partial<OpenSshOptions> = {},
  ): Promise<DemoMachine> {
    this.#servers += 1
    const folder = this.path(`sshd-${this.#servers}`)
    const server = await startOpenSsh({ folder, sshdConfig, ...options })
    this.#closing.push(() => server.stop())
    return server
  }

  /** The connection to a machine as one process has it, with its memory. */
  connection(server: DemoMachine, attempt: Attempt = {}): MachineConnection {
    const base = settingsFor(server)
    const settings: MachineSettings = {
      ...base,
      ...attempt.settings,
      auth: { ...base.auth, ...attempt.auth },
    }
    const { answer } = attempt
    const questions =
      answer === undefined
        ? NOBODY
        : { ask: async (question: Question, signal: AbortSignal) => answer(question, signal) }
    const pool = poolFor(() => settings, questions, attempt.env)
    this.keep(pool)
    return pool.connection(server.alias)
  }

  connect(server: DemoMachine, attempt: Attempt = {}): Promise<Link> {
    return this.connection(server, attempt).link()
  }

  /** How one authenticates, as the link tells it. */
  async method(server: DemoMachine, attempt: Attempt = {}): Promise<string> {
    return (await this.connect(server, attempt)).facts.method
  }

  /** The error of an attempt that has to fail. */
  async failure(server: DemoMachine, attempt: Attempt = {}): Promise<ConnectError> {
    return failureOf(this.connect(server, attempt))
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export async function failureOf(attempt: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await attempt.then(
    () => new Error('it was let in'),
    (failure: unknown) => failure,
  )
  if (error instanceof ConnectError) return error
  throw error
}

/** Answers in order, and what was asked; nobody answers after the last. */
export function person(...texts: readonly string[]): {
  readonly asked: readonly Question[]
  readonly answer: (question: Question) => Answer
} {
  const asked: Question[] = []
  const left = [...texts]
  return {
    asked,
    answer: (question) => {
      asked.push(question)
      const text = left.shift()
      return text === undefined ? { kind: 'nobody' } : { kind: 'text', text }
    },
  }
}
