/** Why a command on a machine never ran. What a command that ran did is told by its exit. */
import { PresenceError } from '../../base/failure.ts'

export type StartErrorCode =
  /** The working folder does not exist there or may not be entered. */
  | 'no-folder'
  /** The program does not exist there. */
  | 'no-program'
  /** The account's login shell did not start it. */
  | 'no-shell'
  /** The machine has no room for what goes with it. */
  | 'no-room'
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

/**
 * Why the launch script did not start a command, from what it said.
 * @param header - the rest of the mark's line; empty when the mark never came.
 * @param noise - what the login shell printed instead.
 */
export function startFailure(
  header: string,
  noise: string,
  request: { readonly argv: readonly string[]; readonly folder: string },
  machine: string,
): StartError {
  if (header === 'folder') {
    return new StartError(
      `the folder ${request.folder} does not exist there or cannot be entered`,
      'no-folder',
      machine,
    )
  }
  if (header === 'program') {
    return new StartError(
      `the program "${request.argv[0] ?? ''}" is not installed there`,
      'no-program',
      machine,
    )
  }
  const said = noise.split('\n').find((line) => line.trim() !== '')
  const words = said === undefined ? '' : `; it says: ${said.trim().slice(0, 200)}`
  return new StartError(`the login shell did not start the command${words}`, 'no-shell', machine)
}
