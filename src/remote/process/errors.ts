/** Why a command on a machine never ran. What a command that ran did is told by its exit. */
import { PresenceError } from '../../base/failure.ts'

export type StartErrorCode =
  /** The working folder does not exist there or may not be entered. */
  | 'no-folder'
  /** The program does not exist there. */
  | 'no-program'
  /** The account's login shell did not start it. */
  | 'no-shell'
  /** The request itself cannot be carried out in a remote world. */
  | 'refused'

export class StartError extends PresenceError {
  /** Our own code, not a system error's: nothing may take it for a local failure. */
  readonly reason: StartErrorCode

  constructor(message: string, reason: StartErrorCode, machine: string) {
    super(`${machine}: ${message}`, 'refused', { machine })
    this.reason = reason
  }
}
