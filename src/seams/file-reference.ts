/**
 * `@` references for both worlds: the host's own search for local sessions, the machine's files for
 * remote ones. Mounted only where the host itself offers references, since the service also adds a
 * line to every prompt.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { LocalFileReferenceService, type Config } from '@deepseek-ai/dsh-file-reference-local'
import {
  DEFAULT_FILE_SEARCH_EXCLUDED_DIRECTORIES,
  DEFAULT_FILE_SEARCH_MAX_ENTRIES,
  DEFAULT_FILE_SEARCH_MAX_RESULTS,
} from '@deepseek-ai/dsh-file-reference-local'
import { sharePresence, type Presence } from '../core/presence.ts'
import { placeKey, type Place } from '../places/place.ts'
import { ReferenceIndex, type ReferenceLimits } from '../remote/search/reference-index.ts'
import type { Candidate } from '../remote/search/rank.ts'

/** Workspaces whose names are kept; those that were asked for last. */
const MOST_INDEXES = 8

class PresenceFileReference extends LocalFileReferenceService {
  // No `#private` members in services: the host hands them out behind a proxy. And names that no base
  // class will have for itself, in any version.
  private readonly presence: Presence
  private readonly presenceLimits: ReferenceLimits
  /** By place: sessions in one folder share what is known of it. */
  private readonly presenceIndexes = new Map<string, ReferenceIndex>()

  constructor(ctx: Context, config: Config = {}) {
    super(ctx, config)
    this.presence = sharePresence(ctx)
    this.presenceLimits = {
      maxResults: config.maxResults ?? DEFAULT_FILE_SEARCH_MAX_RESULTS,
      maxEntries: config.maxEntries ?? DEFAULT_FILE_SEARCH_MAX_ENTRIES,
      excluded: new Set(config.excludedDirectories ?? DEFAULT_FILE_SEARCH_EXCLUDED_DIRECTORIES),
    }
    // Our own writes and commands are heard of below; a tool may have its own way to the machine.
    ctx.on('session/event', (session, event) => {
      if (event.type !== 'tool/result') return
      const cwd = ctx.agents.get(session.id)?.session.header.cwd
      const place = cwd === undefined ? null : this.presence.mounts.parse(cwd)
      if (place !== null) this.presenceIndexes.get(placeKey(place))?.invalidate()
    })
    ctx.effect(
      () => () => {
        for (const index of this.presenceIndexes.values()) index.close()
        this.presenceIndexes.clear()
      },
      'presence: file references',
    )
  }

  override async list(agent: Agent, query: string, signal: AbortSignal): Promise<Candidate[]> {
    const { cwd } = agent.session.header
    const place = cwd === undefined ? undefined : this.presence.mounts.placeOf(cwd)
    if (place === undefined) return super.list(agent, query, signal)
    return this.presenceIndex(place).query(query, signal)
  }

  private presenceIndex(place: Place): ReferenceIndex {
    const key = placeKey(place)
    const known = this.presenceIndexes.get(key)
    const machine = this.presence.machine(place.machine)
    const index =
      known ??
      new ReferenceIndex(machine, this.presence.files(place.machine), place.path, this.presenceLimits)
    this.presenceIndexes.delete(key)
    this.presenceIndexes.set(key, index)
    for (const [oldest, unused] of this.presenceIndexes) {
      if (this.presenceIndexes.size <= MOST_INDEXES) break
      this.presenceIndexes.delete(oldest)
      unused.close()
    }
    return index
  }
}

export const name = 'presence-file-reference'

/** The workspace registry belongs to the same bundle as the host's references: with it, or not at all. */
export function apply(ctx: Context, config: Config): void {
  ctx.inject(['workspaceRegistry'], (scope) => {
    scope.plugin(PresenceFileReference, config)
  })
}
