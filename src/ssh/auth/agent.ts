/** The user's SSH agent: its keys, and a view of it that offers only some of them. */
import ssh2, {
  type IdentityCallback,
  type ParsedKey,
  type PublicKeyEntry,
  type SignCallback,
  type SigningRequestOptions,
} from 'ssh2'
import { race } from '../../base/race.ts'
import type { AgentChoice } from '../config/settings.ts'

/** An agent that has not listed its keys by then counts as absent; a dead one must not hold a connect up. */
const AGENT_ANSWER_MS = 5000

export interface Agent {
  readonly path: string
  readonly keys: readonly ParsedKey[]
  /** The same agent, offering only these keys, in this order. */
  offering(keys: readonly ParsedKey[]): InstanceType<typeof ssh2.BaseAgent>
}

/** The agent's address, or undefined when the configuration or the environment names none. */
export function agentPath(
  choice: AgentChoice,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): string | undefined {
  switch (choice.kind) {
    case 'none':
      return undefined
    case 'path':
      return choice.path
    case 'environment':
      if (env['SSH_AUTH_SOCK'] !== undefined && env['SSH_AUTH_SOCK'] !== '') return env['SSH_AUTH_SOCK']
      return platform === 'win32' ? '\\\\.\\pipe\\openssh-ssh-agent' : undefined
  }
}

/**
 * Connect to the agent and list its keys.
 * @throws when it cannot be reached or does not answer.
 */
export async function openAgent(path: string): Promise<Agent> {
  const inner = ssh2.createAgent(path)
  const listed = await race(
    () =>
      new Promise<readonly Listed[]>((resolve, reject) => {
        inner.getIdentities((error, keys) => {
          if (error === null || error === undefined) resolve(keys ?? [])
          else reject(error)
        })
      }),
    [],
    { afterMs: AGENT_ANSWER_MS, error: () => new Error(`the agent at ${path} does not answer`) },
  )
  const keys = listed.filter(isParsedKey)
  return { path, keys, offering: (chosen) => new NarrowedAgent(inner, chosen) }
}

export function sameKey(a: ParsedKey, b: ParsedKey): boolean {
  return a.getPublicSSH().equals(b.getPublicSSH())
}

type Listed = ParsedKey | PublicKeyEntry | Buffer | string

function isParsedKey(key: Listed): key is ParsedKey {
  return typeof key === 'object' && 'getPublicSSH' in key
}

/** The library offers every key of an agent; `ssh` offers the configured ones, so we narrow it. */
class NarrowedAgent extends ssh2.BaseAgent<ParsedKey> {
  readonly #inner: InstanceType<typeof ssh2.BaseAgent>
  readonly #keys: readonly ParsedKey[]

  constructor(inner: InstanceType<typeof ssh2.BaseAgent>, keys: readonly ParsedKey[]) {
    super()
    this.#inner = inner
    this.#keys = keys
  }

  override getIdentities(callback: IdentityCallback<ParsedKey>): void {
    callback(undefined, [...this.#keys])
  }

  override sign(key: ParsedKey, data: Buffer, options: SigningRequestOptions, callback?: SignCallback): void
  override sign(key: ParsedKey, data: Buffer, callback: SignCallback): void
  override sign(
    key: ParsedKey,
    data: Buffer,
    options: SigningRequestOptions | SignCallback,
    callback?: SignCallback,
  ): void {
    if (typeof options === 'function') this.#inner.sign(key, data, options)
    else if (callback !== undefined) this.#inner.sign(key, data, options, callback)
  }
}
