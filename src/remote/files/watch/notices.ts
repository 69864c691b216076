/**
 * News of changes that the machine tells by itself, for as long as one link lives: when `inotifywait` is started,
 * anew when it no longer listens to what is watched, and when it is done without. Found out by use, so that a
 * machine is asked for it only when something is watched there. What is not covered here has to be looked at.
 */
import { PresenceError } from '../../../base/failure.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { MachineSession } from '../../session.ts'
import type { Heard } from './look.ts'
import { Notifier } from './notifier.ts'
import { Pace } from './pace.ts'

/** More watches come soon after one: they are waited for, in milliseconds. */
const SETTLE_MS = 300
const SHORTEST_RESTART_MS = 1000
const LONGEST_RESTART_MS = 30_000
/** After its place was wanted by others, it is not asked for again for that long. */
const REST_MS = 5 * 60_000
/** What fits into a command's arguments everywhere; more is looked at only. */
const MOST_PATHS = 1000
const MOST_CHARACTERS = 100_000
/** It was silent about so many changes: it does not see what others do to a shared file system. */
const MOST_MISSES = 3

/** What is watched: each path, and whether it is a folder now. */
export type Wanted = ReadonlyMap<RemotePath, boolean>

interface Running {
  readonly wanted: Wanted
  readonly stop: AbortController
  ready: boolean
  partial: boolean
}

export class Notices {
  readonly #session: MachineSession
  readonly #wake: () => void
  readonly #restarts = new Pace(SHORTEST_RESTART_MS)
  #hits = new Set<RemotePath>()
  /** Everything is to be looked at: it cannot be said what happened. */
  #anything = false
  #running: Running | undefined
  /** Those that were told to stop, until they are gone. */
  readonly #leaving = new Set<Promise<void>>()
  #notBefore = performance.now() + SETTLE_MS
  #startedAt = -Infinity
  #off = false
  #misses = 0
  #fault: { readonly error: unknown } | undefined

  /** @param wake - called when there are news. */
  constructor(session: MachineSession, wake: () => void) {
    this.#session = session
    this.#wake = wake
    this.#off = session.shell === undefined
  }

  /** Every change to what is wanted is told. */
  covers(wanted: Wanted): boolean {
    const running = this.#running
    if (running === undefined || running.stop.signal.aborted) return false
    return running.ready && !running.partial && isWithin(wanted, running.wanted)
  }

  /**
   * Have it listen to what is wanted.
   * @returns milliseconds after which this is to be called again.
   */
  keep(wanted: Wanted): number {
    if (this.#fault !== undefined) throw this.#fault.error
    if (this.#off || wanted.size === 0 || isTooMuch(wanted)) return Infinity
    if (this.#running !== undefined && isWithin(wanted, this.#running.wanted)) return Infinity
    const early = this.#notBefore - performance.now()
    if (early > 0) return early
    this.#start(new Map(wanted))
    return Infinity
  }

  /** More watches may follow the one that has begun. */
  settle(): void {
    this.#notBefore = Math.max(this.#notBefore, performance.now() + SETTLE_MS)
  }

  /** Nobody has listened: anything may have happened. */
  heardNothing(): void {
    this.#anything = true
  }

  /** The paths of which something was told since the last call, or `all`. */
  take(): Heard {
    const news = this.#anything ? 'all' : this.#hits
    this.#anything = false
    this.#hits = new Set()
    return news
  }

  get any(): boolean {
    return this.#anything || this.#hits.size > 0
  }

  /** A change to what is covered was seen, of which nothing was told. */
  missed(): void {
    this.#misses += 1
    if (this.#misses >= MOST_MISSES) this.#off = true
    // It may listen to a folder that was moved away.
    this.#leave()
  }

  /** Resolves when nothing of it is left on the machine. */
  async close(): Promise<void> {
    this.#off = true
    this.#leave()
    await Promise.all(this.#leaving)
  }

  #leave(): void {
    const running = this.#running
    this.#running = undefined
    running?.stop.abort()
  }

  #start(wanted: Wanted): void {
    const now = performance.now()
    if (now - this.#startedAt > LONGEST_RESTART_MS) this.#restarts.quick()
    this.#startedAt = now
    this.#notBefore = now + this.#restarts.ms
    this.#restarts.slower(LONGEST_RESTART_MS)
    this.#leave()
    const running: Running = { wanted, stop: new AbortController(), ready: false, partial: false }
    this.#running = running
    const done = this.#run(running, Promise.all(this.#leaving))
      .catch((error: unknown) => {
        this.#fault = { error }
        this.#wake()
      })
      .finally(() => this.#leaving.delete(done))
    this.#leaving.add(done)
  }

  async #run(running: Running, before: Promise<unknown>): Promise<void> {
    await before
    const notifier = await this.#begin(running)
    if (notifier !== undefined) {
      const { signal } = running.stop
      const stopped = new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve())
        if (signal.aborted) resolve()
      })
      await Promise.race([notifier.ended, stopped])
      if (signal.aborted) await notifier.stop()
      // It ended before it could listen: the machine refuses it.
      else if (!running.ready) this.#off = true
    }
    if (this.#running !== running) return
    this.#running = undefined
    if (running.ready) this.#anything = true
    this.#wake()
  }

  /** @returns undefined when it cannot be had now, or ever. */
  async #begin(running: Running): Promise<Notifier | undefined> {
    const { wanted, stop } = running
    const paths = [...wanted.keys()]
    const yields = (): void => {
      this.#notBefore = performance.now() + REST_MS
      stop.abort()
    }
    try {
      const isThere = await Notifier.isThere(this.#session, stop.signal)
      if (isThere === true) {
        const heard = (words: readonly string[]): void => this.#hear(running, paths, words)
        return await Notifier.start(this.#session, paths, heard, yields, stop.signal)
      }
      if (isThere === false) this.#off = true
    } catch (error) {
      // There is no room now, or no answer came; a link that died takes this with it.
      if (!(error instanceof PresenceError)) throw error
    }
    if (!stop.signal.aborted) this.#notBefore = performance.now() + REST_MS
    return undefined
  }

  #hear(running: Running, paths: readonly RemotePath[], words: readonly string[]): void {
    if (this.#running !== running) return
    for (const word of words) {
      switch (word) {
        case 'ready':
          running.ready = true
          this.#anything = true
          break
        case 'partial':
          running.partial = true
          break
        case 'over':
          this.#anything = true
          running.stop.abort()
          break
        default: {
          const path = paths[Number(word) - 1]
          if (path !== undefined) this.#hits.add(path)
        }
      }
    }
    this.#wake()
  }
}

function isWithin(wanted: Wanted, covered: Wanted): boolean {
  for (const [path, folder] of wanted) if (covered.get(path) !== folder) return false
  return true
}

function isTooMuch(wanted: Wanted): boolean {
  if (wanted.size > MOST_PATHS) return true
  let characters = 0
  for (const path of wanted.keys()) characters += path.length
  return characters > MOST_CHARACTERS
}
