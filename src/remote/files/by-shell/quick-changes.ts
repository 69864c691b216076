/**
 * Changes in one question to the machine, for files that are as we know them. What is not in order is left
 * to `Changes`, which looks again, knows all cases, and has the words for what is wrong: here nothing is
 * refused, only left alone.
 */
import { ChannelError } from '../../../ssh/errors.ts'
import type { MachineSession } from '../../session.ts'
import { asDiffBasis, type ChangeOptions, type WriteGuard, type WriteOutcome } from '../saving/change.ts'
import type { Contents, FileState } from '../memory/contents.ts'
import { edited, type Edited } from '../saving/edited.ts'
import { FileError } from '../errors.ts'
import type { Handover } from '../memory/handover.ts'
import type { Leftovers } from '../saving/leftovers.ts'
import { lookByShell } from './look.ts'
import type { LookSize } from './look-size.ts'
import { LARGEST_BY_SHELL, publishByShell } from './publish-by-shell.ts'
import type { Shown } from '../read.ts'
import type { FileStat } from '../stat.ts'
import { withUnixLineEnds, type LiteralEdit } from '../text.ts'

interface Present {
  readonly stat: FileStat | undefined
  readonly content: Buffer | undefined
}

export class QuickChanges {
  readonly #contents: Contents
  readonly #handover: Handover
  readonly #leftovers: Leftovers
  readonly #lookSize: LookSize

  constructor(contents: Contents, handover: Handover, leftovers: Leftovers, lookSize: LookSize) {
    this.#contents = contents
    this.#handover = handover
    this.#leftovers = leftovers
    this.#lookSize = lookSize
  }

  /** @returns undefined when nothing was changed. @throws LinkLostError with `outcomeUnknown`; CancelledError. */
  async write(
    session: MachineSession,
    file: Shown,
    content: string,
    guard: WriteGuard,
    diffLimit: number,
    options: ChangeOptions,
  ): Promise<WriteOutcome | undefined> {
    const version = guard.kind === 'version' ? guard.version : undefined
    if (content.length > LARGEST_BY_SHELL) return undefined
    const present = await this.#present(session, file, version, options)
    if (present === undefined || (guard.kind === 'absent' && present.stat !== undefined)) return undefined
    const bytes = Buffer.from(content, 'utf8')
    const { stat } = present
    const compared = stat !== undefined && bytes.length < diffLimit && stat.size < diffLimit
    if (compared && present.content === undefined) return undefined
    const published = await this.#publish(session, file, bytes, stat)
    if (published === undefined) return undefined
    return {
      created: stat === undefined,
      version: published.version,
      before: compared && present.content !== undefined ? asDiffBasis(present.content) : null,
      after: withUnixLineEnds(content),
    }
  }

  /** As `write`. */
  async edit(
    session: MachineSession,
    file: Shown,
    edit: LiteralEdit,
    version: string | undefined,
    options: ChangeOptions,
  ): Promise<WriteOutcome | undefined> {
    const present = await this.#present(session, file, version, options)
    if (present?.stat === undefined || present.content === undefined) return undefined
    const change = orUndefined(() => edited(file, present.content as Buffer, edit))
    if (change === undefined) return undefined
    const published = await this.#publish(session, file, change.content, present.stat)
    if (published === undefined) return undefined
    return { created: false, version: published.version, before: change.before, after: change.after }
  }

  /**
   * What is there, as it was seen when it had this version, or just now. Whether it is still so is found out
   * where it is changed.
   */
  async #present(
    session: MachineSession,
    file: Shown,
    version: string | undefined,
    { caller, signal }: ChangeOptions,
  ): Promise<Present | undefined> {
    const kept: FileState | undefined =
      version === undefined ? undefined : this.#contents.get(file.path, version)
    if (kept !== undefined) return kept
    const held = caller === undefined ? undefined : this.#handover.take(file.path, caller)
    const fits = held !== undefined && (version === undefined || held.stat?.version === version)
    if (fits) return held
    const look = await lookByShell(session, file.path, this.#lookSize, signal)
    if (look === undefined || look.canonical !== file.path) return undefined
    return version === undefined || look.stat?.version === version ? look : undefined
  }

  async #publish(
    session: MachineSession,
    { path }: Shown,
    content: Buffer,
    expected: FileStat | undefined,
  ): Promise<FileStat | undefined> {
    const published = await publishByShell(session, { path, content, expected }, this.#leftovers).catch(
      (error: unknown) => {
        // No helper shell to be had, so nothing was begun.
        if (error instanceof ChannelError) return undefined
        throw error
      },
    )
    if (published !== undefined) this.#contents.keep(path, published, content)
    return published
  }
}

function orUndefined(edit: () => Edited): Edited | undefined {
  try {
    return edit()
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}
