/** What a probe finds, as data: the object that `--json` prints. It never holds a secret. */
export interface ProbeResult {
  readonly machine: string
  readonly ok: boolean
  /** Null as long as the configuration could not be resolved. */
  readonly settings: ProbedSettings | null
  /** How far the connection came, and how long each stage took, questions to a person included. */
  readonly stages: readonly { readonly stage: string; readonly ms: number }[]
  readonly connection: ProbedConnection | null
  readonly capabilities: ProbedCapabilities | null
  readonly roundTrips: RoundTrips | null
  readonly warnings: readonly string[]
  readonly failure: ProbeFailure | null
}

export interface ProbedSettings {
  readonly host: string
  readonly port: number
  readonly user: string
  /** Configuration files that were read. */
  readonly files: readonly string[]
  /** Path of the `ssh` program that resolved the values; null: Presence's own evaluation did. */
  readonly resolvedBy: string | null
  readonly identityFiles: readonly string[]
  readonly knownHostsFiles: readonly string[]
}

export interface ProbedConnection {
  /** Address and port that were dialled. */
  readonly address: string
  readonly identification: string
  readonly method: string
  readonly hostKey: { readonly type: string; readonly sha256: string } | null
}

export interface ProbedCapabilities {
  readonly sftp: boolean
  readonly files: {
    /** Null when the account has SFTP; otherwise why it does not. */
    readonly reason: string | null
    /** `service`, or the path of the program that is run as a command instead; null without SFTP. */
    readonly by: string | null
    /** Where SFTP begins; null when it is not known. */
    readonly start: string | null
    /** What the server offers beyond SFTP version 3, with its word for the version of each. */
    readonly extensions: Readonly<Record<string, string>>
    /** Whether a path means the same to SFTP and to commands; `different` switches commands off. */
    readonly sameAsCommands: 'same' | 'different' | 'unknown'
  }
  /** Null when the account runs commands; otherwise why it does not. */
  readonly noCommands: string | null
  /** Its name; `nologin` when the account is known to have one that refuses everybody. */
  readonly loginShell: string
  readonly shell: {
    readonly os: string
    readonly user: string
    readonly home: string
    /** How the login shell quotes: `posix` or `foreign`. */
    readonly quoting: string
    readonly temporary: string
    readonly locale: {
      readonly lang: string
      readonly lcAll: string
      readonly charmap: string
      readonly utf8: boolean
    }
    /** How exact changes of files are seen: `gnu` and `bsd` in nanoseconds, otherwise in seconds. */
    readonly stat: string
    readonly find: string
    /** How commands can be confined; null: they cannot. */
    readonly confinement: 'bwrap' | 'namespaces' | null
    /** Absolute paths; null: not there. */
    readonly programs: Readonly<Record<string, string | null>>
  } | null
}

/** Medians in milliseconds, warm; null where the account cannot do it. */
export interface RoundTrips {
  readonly sftpStat: number | null
  readonly shellQuestion: number | null
  readonly command: number | null
}

export interface ProbeFailure {
  readonly stage: string
  readonly code: string
  readonly reason: string
  readonly advice: string
}
