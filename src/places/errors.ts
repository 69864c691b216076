/**
 * What can be wrong with a place (a folder or file on a machine, or the workspace that stands for it).
 * Connection faults are not here: they keep the types of `ssh/errors.ts`.
 */
import { PresenceError } from '../base/failure.ts'

export type PlaceErrorCode =
  /** The path cannot name anything: empty, relative, too long, or not text. */
  | 'bad-path'
  | 'not-found'
  | 'not-a-directory'
  | 'not-a-file'
  | 'permission-denied'
  /** No workspace is recorded for this place. */
  | 'unknown-workspace'

/** The machine answered, and the answer is no. The message names the place and is for a person. */
export class PlaceError extends PresenceError {
  readonly code: PlaceErrorCode

  constructor(message: string, code: PlaceErrorCode, details: { machine?: string; cause?: unknown } = {}) {
    super(details.machine === undefined ? message : `${details.machine}: ${message}`, 'refused', details)
    this.code = code
  }
}

/** A path of this computer that leads by links to what stands for a machine. */
export class LinkedMarkerError extends PresenceError {
  /** @param marker - what it leads to, in the spelling that means the machine. */
  constructor(path: string, marker: string) {
    super(
      `"${path}" leads by a link to a folder that stands for a machine's; name that instead: "${marker}". ` +
        'Nothing was looked up locally',
      'refused',
    )
  }
}

/** A path under the mounts of a machine that is not known (any more), or the mounts folder itself. */
export class StrayPathError extends PresenceError {
  /** `machine` is empty for the mounts folder itself. */
  constructor(path: string, machine: string) {
    super(
      machine === ''
        ? `"${path}" stands for all machines and is a folder of none: open a session in a folder of one`
        : `"${path}" belongs to the machine "${machine}", which is not known: it is neither an alias of your SSH ` +
            'configuration nor in machines.yml. Nothing was looked up locally instead',
      'refused',
      machine === '' ? {} : { machine },
    )
  }
}

/** A folder of this computer, for a command of a session whose commands run on a machine. */
export class LocalFolderError extends PresenceError {
  constructor(folder: string, machine: string) {
    super(
      `${machine}: the folder "${folder}" is on the local computer; commands of this session run on the machine. ` +
        'Name a folder of the machine',
      'refused',
      { machine },
    )
  }
}
