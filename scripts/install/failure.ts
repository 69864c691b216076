/** What the installer refuses or cannot do, in words for the person who runs it. */

export type Reason =
  | 'usage'
  | 'old-node'
  | 'no-profile'
  | 'not-writable'
  | 'host-running'
  | 'busy'
  | 'no-pnpm'
  | 'no-dsh'
  | 'no-tarball'
  | 'bad-tarball'
  | 'bad-manifest'
  | 'bad-journal'
  | 'package-manager'
  | 'wrong-composition'
  | 'does-not-boot'
  | 'interrupted'

/** The message is one or more whole sentences: what is wrong, then what to do. */
export class InstallError extends Error {
  readonly reason: Reason

  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'InstallError'
    this.reason = reason
  }
}

/** The code of a failed system call; undefined for every other error. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
}
