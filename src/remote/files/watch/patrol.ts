/**
 * The rounds of one machine's watches while there are any: looks at all paths at a slowing pace, at single ones
 * when the machine tells of them, and rests while there is no connection. Never connects, and never keeps a
 * connection from being closed as idle.
 */
import { CancelledError, PresenceError } from '../../../base/failure.ts'
import { callerLeaves, race } from '../../../base/race.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { Machine } from '../../machine.ts'
import type { MachineSession } from '../../session.ts'
import { Alarm } from './alarm.ts'
import { lookAt, type Heard } from './look.ts'
import { Notices } from './notices.ts'
import { Pace } from './pace.ts'
import type { WatchedPath } from './watched-path.ts'

const SHORTEST_MS = 1000
const LONGEST_MS = 15_000
/** While the machine itself tells of changes. */
const LONGEST_COVERED_MS = 60_000
/** Between looks at a path of which the machine tells again and again. */
const SHORTEST_NEWS_MS = 100
const LONGEST_NEWS_MS = 5000

export class Patrol {
  readonly #machine: Machine
  readonly #paths: ReadonlyMap<RemotePath, WatchedPath>
  readonly #stop = new AbortController()
  readonly #alarm = new Alarm()
  readonly #pace = new Pace(SHORTEST_MS)
  readonly #done: Promise<void>
  #notices: Notices | undefined
  /** When everything is to be looked at, in `performance.now`'s milliseconds. */
  #due = performance.now() + SHORTEST_MS

  /**
   * @param paths - what is watched; looked at again at every round.
   * @param failed - told what ends the rounds unasked; a fault of ours.
   */
  constructor(
    machine: Machine,
    paths: ReadonlyMap<RemotePath, WatchedPath>,
    failed: (error: unknown) => void,
  ) {
    this.#machine = machine
    this.#paths = paths
    this.#done = this.#run().catch((error: unknown) => {
      if (!(error instanceof CancelledError)) failed(error)
    })
  }

  /** One more path is watched: somebody is at work there. */
  joined(): void {
    this.#pace.quick()
    this.#due = Math.min(this.#due, performance.now() + this.#pace.ms)
    this.#notices?.settle()
    this.#alarm.ring()
  }

  /** Resolves when nothing of it is left, here and on the machine. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#done
  }

  async #run(): Promise<void> {
    const stop = this.#stop.signal
    for (let heard: Heard = new Set(); !stop.aborted; heard = 'all') {
      const session = await this.#connected(stop)
      if (session !== undefined) await this.#follow(session, heard, stop)
    }
  }

  /** The next session that somebody else begins; undefined when it did not come to be. */
  async #connected(stop: AbortSignal): Promise<MachineSession | undefined> {
    const { connection } = this.#machine
    if (connection.current === undefined) {
      const ready = Promise.withResolvers<void>()
      const forget = connection.changes.on((state) => {
        if (state.kind === 'ready') ready.resolve()
      })
      try {
        await race(() => ready.promise, callerLeaves(stop, 'watch'))
      } finally {
        forget()
      }
    }
    try {
      return await this.#machine.sessionIfConnected(stop)
    } catch (error) {
      if (!(error instanceof PresenceError) || error instanceof CancelledError) throw error
      // Whoever has asked for it is told; the next connection may be a better one.
      if (connection.current !== undefined) await this.#alarm.wait(LONGEST_MS, stop)
      return undefined
    }
  }

  /**
   * Until the link dies or the rounds are ended.
   * @param before - what may have happened while nobody looked.
   */
  async #follow(session: MachineSession, before: Heard, stop: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([stop, session.link.dead])
    const notices = new Notices(session, () => this.#alarm.ring())
    const news = new Pace(SHORTEST_NEWS_MS)
    /** Changes of which the machine should have told, and has told nothing so far. */
    let untold: readonly WatchedPath[] = []
    let newsDue = 0
    if (before === 'all') {
      notices.heardNothing()
      this.#pace.quick()
      this.#due = 0
    }
    this.#notices = notices
    try {
      while (!ended.aborted) {
        const now = performance.now()
        if (now >= this.#due) {
          const heard = notices.take()
          if (without(untold, heard).length > 0) notices.missed()
          const covered = heard !== 'all' && notices.covers(this.#wanted())
          const changed = await this.#look(session, 'everything', heard, ended)
          untold = covered ? without(changed, heard) : []
          const relied = notices.covers(this.#wanted())
          if (changed.length > 0 && (!relied || untold.length > 0)) this.#pace.quick()
          else this.#pace.slower(relied ? LONGEST_COVERED_MS : LONGEST_MS)
          this.#due = performance.now() + this.#pace.ms
        } else if (notices.any && now >= newsDue) {
          const heard = notices.take()
          untold = without(untold, heard)
          await this.#look(session, 'what was heard of', heard, ended)
          // A path that is never quiet is looked at less and less.
          if (notices.any) news.slower(LONGEST_NEWS_MS)
          else news.quick()
          newsDue = performance.now() + news.ms
        }
        const next = notices.any ? Math.min(newsDue, this.#due) : this.#due
        await this.#alarm.wait(Math.min(next - performance.now(), notices.keep(this.#wanted())), ended)
      }
    } finally {
      this.#notices = undefined
      await notices.close()
    }
  }

  async #look(
    session: MachineSession,
    at: 'everything' | 'what was heard of',
    heard: Heard,
    ended: AbortSignal,
  ): Promise<WatchedPath[]> {
    const all = [...this.#paths.values()]
    const paths = at === 'everything' || heard === 'all' ? all : all.filter(({ path }) => heard.has(path))
    try {
      return await lookAt(session, paths, heard, ended)
    } catch (error) {
      // A machine that cannot be asked is not a change; the next look may succeed.
      if (error instanceof PresenceError) return []
      throw error
    }
  }

  #wanted(): ReadonlyMap<RemotePath, boolean> {
    return new Map([...this.#paths.values()].map((watched) => [watched.path, watched.isFolder]))
  }
}

function without(paths: readonly WatchedPath[], heard: Heard): readonly WatchedPath[] {
  return heard === 'all' ? [] : paths.filter(({ path }) => !heard.has(path))
}
