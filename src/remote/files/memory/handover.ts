/**
 * What a look has just found out about a file, for the next questions of the same caller: the host's tools ask
 * where a path leads, then what is there, then for its content. Each part is given away once, soon, and to the
 * call that it was fetched for, so that nobody is told what was true for somebody else.
 */
import type { RemotePath } from '../../../base/remote-path.ts'
import type { ListedEntry } from '../listed-entry.ts'
import type { Look } from '../by-shell/look.ts'
import type { FileStat } from '../stat.ts'

/** A caller that goes on asks within milliseconds. */
const SOON_MS = 1000
const MOST = 64

/** On whose behalf a question is asked; another call is another object. */
export interface Caller {
  /** `tool`: a tool call of the model; `step`: the host looks around before a step of it. */
  readonly phase: 'tool' | 'step'
  /** It does nothing with a file but change it, and a change looks again where its path leads. */
  readonly changes?: boolean
}

interface Held {
  readonly caller: Caller
  readonly at: number
  stat: { readonly value: FileStat | undefined } | undefined
  /** For who is about to open it: opening asks what it is once more. */
  gate: FileStat | undefined
  content: Buffer | undefined
  listing: readonly ListedEntry[] | undefined
}

export class Handover {
  readonly #held = new Map<RemotePath, Held>()

  offer({ canonical, stat, content, listing }: Look, caller: Caller): void {
    this.#held.delete(canonical)
    this.#held.set(canonical, {
      caller,
      at: performance.now(),
      stat: { value: stat },
      gate: stat,
      content,
      listing,
    })
    if (this.#held.size <= MOST) return
    const oldest = this.#held.keys().next()
    if (oldest.done !== true) this.#held.delete(oldest.value)
  }

  /** @returns undefined when nothing is held; `value` is undefined when nothing is there. */
  takeStat(path: RemotePath, caller: Caller): { readonly value: FileStat | undefined } | undefined {
    const held = this.#fresh(path, caller)
    const stat = held?.stat
    if (held !== undefined) held.stat = undefined
    return stat
  }

  /** What was found there, for who opens it now. */
  takeGate(path: RemotePath, caller: Caller): FileStat | undefined {
    const held = this.#fresh(path, caller)
    const gate = held?.gate
    if (held !== undefined) held.gate = undefined
    return gate
  }

  takeContent(path: RemotePath, caller: Caller): Buffer | undefined {
    const held = this.#fresh(path, caller)
    const content = held?.content
    if (held !== undefined) held.content = undefined
    return content
  }

  takeListing(path: RemotePath, caller: Caller): readonly ListedEntry[] | undefined {
    const held = this.#fresh(path, caller)
    const listing = held?.listing
    if (held !== undefined) held.listing = undefined
    return listing
  }

  /** The whole, for who is about to change the file; undefined when part of it was given away. */
  take(
    path: RemotePath,
    caller: Caller,
  ): { readonly stat: FileStat | undefined; readonly content: Buffer | undefined } | undefined {
    const held = this.#fresh(path, caller)
    this.#held.delete(path)
    if (held?.stat === undefined) return undefined
    return { stat: held.stat.value, content: held.content }
  }

  /** Something may have changed. */
  forget(): void {
    this.#held.clear()
  }

  #fresh(path: RemotePath, caller: Caller): Held | undefined {
    const held = this.#held.get(path)
    if (held === undefined || held.caller !== caller) return undefined
    if (performance.now() - held.at <= SOON_MS) return held
    this.#held.delete(path)
    return undefined
  }
}
