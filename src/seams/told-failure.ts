/**
 * Failures that the host passes on to the model only when they come as a command's own words: its search
 * tools replace a rejection by a general sentence, and its shell tool knows a missing sandbox by a line
 * on standard error. Such a failure is told that way, with an exit code that means the same.
 */
import { PresenceError, messageOf } from '../base/failure.ts'
import { UnconfinedError } from '../core/sandbox-policy.ts'
import { isSearch } from './search-argv.ts'

export const UNCONFINED_SIGNATURE = 'presence: not run without confinement:'
/** What a shell answers for a command that may not be executed. */
export const UNCONFINED_EXIT = 126
/** ripgrep's own code for an error. */
const SEARCH_FAILED_EXIT = 2

export interface ToldFailure {
  readonly exitCode: number
  readonly text: string
}

/** How to tell a failure of this command, or undefined when its rejection reaches the model as it is. */
export function toldFailure(error: unknown, argv: readonly string[]): ToldFailure | undefined {
  if (error instanceof UnconfinedError) {
    return { exitCode: UNCONFINED_EXIT, text: `${UNCONFINED_SIGNATURE} ${error.message}\n` }
  }
  if (isSearch(argv) && error instanceof PresenceError && error.family !== 'cancelled') {
    return { exitCode: SEARCH_FAILED_EXIT, text: `${messageOf(error)}\n` }
  }
  return undefined
}
