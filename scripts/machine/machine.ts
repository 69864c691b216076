/**
 * What a rig machine is, whichever server is behind it: an SSH machine on loopback with an account, a
 * home folder and keys of its own. Nothing of the user's `~/.ssh` is read or written.
 */
export interface CommandOutcome {
  /** Null when a signal ended the command or the connection broke first. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface MachineOptions {
  /**
   * Absolute folder for everything the machine has: keys, configuration, log, `home/`. Made when it is
   * missing; keys that are in it are used again, so the machine keeps its identity.
   */
  readonly folder: string
  /** The host alias in the machine's ssh_config; `demo` when absent. */
  readonly alias?: string
}

export interface DemoMachine {
  readonly alias: string
  readonly host: string
  readonly port: number
  readonly user: string
  readonly kind: 'openssh' | 'embedded'
  /** Private key that logs in, without a passphrase. */
  readonly identityFile: string
  /** Holds exactly this machine's host key. */
  readonly knownHostsFile: string
  /** For `ssh -F`: knows `alias` and nothing else. */
  readonly sshConfigFile: string
  /** The account's home folder, where SFTP starts and what HOME says. */
  readonly home: string
  /** End the server, its connections and everything that was started through it. Idempotent. */
  stop(): Promise<void>
  /** Cut every connection and come back at the same port with the same keys. */
  restart(): Promise<void>
  /** Run a command there without Presence: by the `ssh` program, or a plain client without one. */
  run(command: string): Promise<CommandOutcome>
}

/** Name of the environment variable that marks every process started through a rig machine. */
export const MARK = 'PRESENCE_RIG_MACHINE'
