/**
 * The resolved meaning of one SSH host alias: what `ssh -G <alias>` prints, typed. Only values, no
 * reading of files: who resolves them is `resolve.ts`.
 */

/**
 * OpenSSH's five answers to a host key that is not known (ssh_config(5), StrictHostKeyChecking). `off` and
 * `no` are one thing to it, and `ssh -G` does not tell them apart, so resolving gives `no` for both.
 */
export type HostKeyPolicy = 'yes' | 'ask' | 'accept-new' | 'no' | 'off'

/** Which agent holds keys: none, the one `SSH_AUTH_SOCK` names, or a socket or pipe path. */
export type AgentChoice =
  | { readonly kind: 'none' }
  | { readonly kind: 'environment' }
  | { readonly kind: 'path'; readonly path: string }

export interface HostKeySettings {
  readonly policy: HostKeyPolicy
  /** Files to look up and to add to, `~` and tokens expanded; the first one takes new keys. */
  readonly userFiles: readonly string[]
  readonly globalFiles: readonly string[]
  /** Name to look up instead of host and port. */
  readonly alias: string | undefined
  /** Write new lines hashed. */
  readonly hashed: boolean
}

export interface AuthSettings {
  /** Private key files in order of preference, `~` and tokens expanded; may name absent files. */
  readonly identityFiles: readonly string[]
  readonly certificateFiles: readonly string[]
  /** Offer only the configured identities, although an agent holds more. */
  readonly identitiesOnly: boolean
  readonly agent: AgentChoice
  /** A library of PKCS#11 that holds keys, where one is configured. */
  readonly pkcs11Provider?: string
  /** Methods in order of preference, as `PreferredAuthentications` names them. */
  readonly preferred: readonly string[]
  readonly publicKey: boolean
  readonly password: boolean
  readonly keyboardInteractive: boolean
  /** Never ask a person anything. */
  readonly batchMode: boolean
  readonly passwordPrompts: number
}

/**
 * A configured list of algorithms. `replace`: exactly these, in this order; `append` and `prepend`: these
 * after or before the defaults; `remove`: the defaults without these. Entries may be wildcard patterns.
 * `applyAlgorithms` makes it a list of names. `ssh -G` has applied the operators already, to OpenSSH's own
 * defaults: additions are told from its list, `remove` comes only from our own evaluation.
 */
export interface AlgorithmChoice {
  readonly how: 'replace' | 'append' | 'prepend' | 'remove'
  readonly patterns: readonly string[]
}

/** undefined: not configured, so the client's own defaults hold. */
export interface AlgorithmSettings {
  readonly ciphers: AlgorithmChoice | undefined
  readonly macs: AlgorithmChoice | undefined
  readonly keyExchange: AlgorithmChoice | undefined
  readonly hostKeys: AlgorithmChoice | undefined
}

export interface MachineSettings {
  /** The name the user typed; patterns are matched against it. */
  readonly alias: string
  /** Name or address to dial; IPv6 without brackets. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly addressFamily: 'any' | 'inet' | 'inet6'
  readonly bindAddress: string | undefined
  /**
   * Milliseconds for the TCP connection and the server's identification; undefined: our default. Never 0:
   * `ConnectTimeout 0` and `none` leave it to us too.
   */
  readonly connectTimeoutMs: number | undefined
  /**
   * Milliseconds between keepalive requests; undefined: our default. Never 0: `ssh -G` prints 0 both for
   * "none" and for "not configured".
   */
  readonly keepaliveIntervalMs: number | undefined
  readonly keepaliveCountMax: number
  readonly hostKeys: HostKeySettings
  readonly auth: AuthSettings
  readonly algorithms: AlgorithmSettings
  /** Jump hosts in order, nearest to us first, each as `[user@]host[:port]`. */
  readonly proxyJump: readonly string[]
  /** Command whose standard streams carry the connection, tokens expanded. */
  readonly proxyCommand: string | undefined
  readonly setEnv: Readonly<Record<string, string>>
}

/** Where settings come from. All paths are local and absolute. */
export interface ConfigSources {
  /** A file used instead of the user's and the system's, as `ssh -F` does; undefined: both of those. */
  readonly onlyFile: string | undefined
  readonly userFile: string
  readonly systemFile: string
  /** The `ssh` program to ask, or undefined where there is none. */
  readonly sshProgram: string | undefined
}
