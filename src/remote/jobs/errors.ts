/** What became of a background job is not known, and will not be. A lost connection alone is no such failure. */
import { PresenceError } from '../../base/failure.ts'

export class JobLostError extends PresenceError {
  constructor(message: string, machine: string, cause?: unknown) {
    super(`${machine}: ${message} (outcome unknown)`, 'transport', { machine, cause })
  }
}
