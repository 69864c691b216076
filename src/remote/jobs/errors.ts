/** What can keep a background job from being followed for good. A lost connection alone is none of it. */
import { PresenceError } from '../../base/failure.ts'

/** What became of a job is not known, and will not be. */
export class JobLostError extends PresenceError {
  constructor(message: string, machine: string, cause?: unknown) {
    super(`${machine}: ${message} (outcome unknown)`, 'transport', { machine, cause })
  }
}

/** Under the job's machine's name another machine answers, which is not to be asked for it. */
export class OtherMachineError extends PresenceError {
  constructor(message: string, machine: string) {
    super(`${machine}: ${message}`, 'refused', { machine })
  }
}
