/**
 * A command that was not run because its machine cannot confine it. The host recognises such a failure by
 * a line on standard error, so the words are fixed here for both the writer and the rule.
 */
import { PresenceError } from '../base/failure.ts'

export const UNCONFINED_SIGNATURE = 'presence: not run without confinement:'
/** What a shell answers for a command that may not be executed. */
export const UNCONFINED_EXIT = 126

export class UnconfinedError extends PresenceError {
  constructor(message: string, machine: string) {
    super(message, 'refused', { machine })
  }
}
