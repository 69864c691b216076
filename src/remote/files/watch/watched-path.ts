/** One watched path of a machine: who listens, what was seen last, and telling of what is different now. */
import { asFileError } from '../errors.ts'
import { contentsDiffer, type Contents } from './contents.ts'
import { differs, type Observation } from './observation.ts'
import type { RemotePath } from '../../../base/remote-path.ts'

/** A folder whose times stay the same is looked into at every so many looks: a line from a shell, a list by SFTP. */
const CONTENTS_EVERY = { stat: 2, sftp: 4 } as const

export interface Listener {
  /** The path as messages show it. */
  readonly shown: string
  /** An error tells that the path cannot be looked at any more; it is told once, and the watch goes on. */
  readonly changed: (error?: Error) => void
}

/** What one look found, and when it was asked for (`performance.now`). */
export interface Look {
  readonly askedAt: number
  readonly now: Observation
  /** Undefined when the folder was not looked into. */
  readonly contents: Contents | undefined
}

export class WatchedPath {
  readonly path: RemotePath
  readonly listeners = new Set<Listener>()
  #seen: Observation
  #contents: Contents | undefined
  #askedAt: number
  /** Looks since the folder was looked into. */
  #looks = 0
  /** Its last change may have been followed by another within the same second, which SFTP would not tell. */
  #restless = false

  constructor(path: RemotePath, first: Look) {
    this.path = path
    this.#seen = first.now
    this.#contents = first.contents
    this.#askedAt = first.askedAt
  }

  get isFolder(): boolean {
    return this.#seen.kind === 'there' && this.#seen.folder
  }

  /**
   * Whether a folder's entries are to be looked at now, too.
   * @param heard - something is known to have happened there.
   */
  wantsContents(now: Observation, heard: boolean): boolean {
    if (now.kind !== 'there' || !now.folder) return false
    return heard || this.#restless || this.#looks + 1 >= CONTENTS_EVERY[now.by] || differs(this.#seen, now)
  }

  /** Take what a look found, and tell the listeners if it is different. @returns whether they were told. */
  take({ askedAt, now, contents }: Look): boolean {
    // Another look was asked for later, and has answered before.
    if (askedAt < this.#askedAt) return false
    this.#askedAt = askedAt
    const found: Observation = contents?.kind === 'refused' ? contents : now
    const before = this.#seen
    const moved = differs(before, found)
    const changed = moved || (contents !== undefined && contentsDiffer(this.#contents, contents))
    this.#seen = found
    this.#restless = moved && found.kind === 'there' && found.by === 'sftp'
    this.#looks = contents === undefined ? this.#looks + 1 : 0
    if (contents?.kind === 'sum') this.#contents = contents
    if (found.kind !== 'there') this.#contents = undefined
    if (!changed) return false
    for (const listener of [...this.listeners]) {
      if (found.kind === 'refused') tell(listener, failureFor(listener, found.error))
      else tell(listener)
    }
    return true
  }
}

export function failureFor({ shown }: Pick<Listener, 'shown'>, error: Error): Error {
  const told = asFileError(error, `cannot watch "${shown}"`)
  return told instanceof Error ? told : error
}

/** A listener that throws stops neither the others nor the watch. */
export function tell(listener: Listener, ...failure: [] | [Error]): void {
  try {
    listener.changed(...failure)
  } catch (listenerFailure) {
    queueMicrotask(() => process.emitWarning(listenerFailure as Error))
  }
}
