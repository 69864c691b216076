/** What a check is, and the place it gets to work in. The checks themselves are in `checks.ts`. */
import { FsError } from '@deepseek-ai/dsh-fs'
import { childOf, type RemotePath } from '../base/remote-path.ts'
import type { Presence } from '../core/presence.ts'
import type { Bench } from './bench.ts'
import type { ErrorClass } from './expectations.ts'
import type { Subjects } from './subjects.ts'

export interface Check {
  /** A sentence: what is so when the check passes. */
  readonly name: string
  /** `at the end`: over what all the others did. `after clearing`: once everything was removed. */
  readonly when?: 'at the end' | 'after clearing'
  /**
   * @returns what a person may want to know of it, if anything.
   * @throws UnmetExpectation, or whatever the services throw where they must not.
   */
  readonly make: (at: Workplace) => Promise<string | void>
}

/** The host's own classes, as its other parts import them; unknown where they could not be found. */
export interface HostClasses {
  readonly FsError: unknown
  readonly SandboxedFileSystem: unknown
  /** Why they could not be found. */
  readonly problem?: string
}

export interface Surroundings {
  readonly presence: Presence
  readonly subjects: Subjects
  readonly bench: Bench
  readonly host: HostClasses
  /** A fresh folder on this computer, outside the mounts. */
  readonly local: string
}

/** One check's own folder on the machine, and everything it may use. */
export class Workplace {
  readonly presence: Presence
  readonly fs: Subjects['fs']
  readonly subprocess: Subjects['subprocess']
  readonly sandbox: Subjects['sandbox']
  readonly bench: Bench
  readonly host: HostClasses
  readonly local: string
  readonly folder: RemotePath
  /** Aborted when the check takes too long or the host ends. */
  readonly signal: AbortSignal

  constructor(surroundings: Surroundings, folder: RemotePath, signal: AbortSignal) {
    this.presence = surroundings.presence
    this.fs = surroundings.subjects.fs
    this.subprocess = surroundings.subjects.subprocess
    this.sandbox = surroundings.subjects.sandbox
    this.bench = surroundings.bench
    this.host = surroundings.host
    this.local = surroundings.local
    this.folder = folder
    this.signal = signal
  }

  /** The class that the host knows refusals by; our import of it where the host's could not be found. */
  get hostError(): ErrorClass {
    return typeof this.host.FsError === 'function' ? (this.host.FsError as ErrorClass) : FsError
  }

  /** A path of the machine in this check's folder. */
  path(name: string): RemotePath {
    return name.split('/').reduce(childOf, this.folder)
  }

  /** The local spelling of such a path; without a name, of the folder itself. */
  mount(name?: string): string {
    const path = name === undefined ? this.folder : this.path(name)
    return this.presence.mounts.format({ machine: this.bench.machine, path })
  }

  /** A target of the file system under examination. */
  target(name: string): ReturnType<Subjects['fs']['resolve']> {
    return this.fs.resolve(name, { cwd: this.mount(), signal: this.signal })
  }
}
