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
import { ReferenceIndex, type ReferenceLimits } from '../remote/search/reference-index.ts'
import type { Candidate } from '../remote/search/rank.ts'

class PresenceFileReference extends LocalFileReferenceService {
  // No `#private` members in services: the host hands them out behind a proxy. And names that no base
  // class will have for itself, in any version.
  private readonly presence: Presence
  private readonly presenceLimits: ReferenceLimits
  private readonly presenceIndexes = new Map<Agent, ReferenceIndex>()

  constructor(ctx: Context, config: Config = {}) {
    super(ctx, config)
    this.presence = sharePresence(ctx)
    this.presenceLimits = {
      maxResults: config.maxResults ?? DEFAULT_FILE_SEARCH_MAX_RESULTS,
      maxEntries: config.maxEntries ?? DEFAULT_FILE_SEARCH_MAX_ENTRIES,
      excluded: new Set(config.excludedDirectories ?? DEFAULT_FILE_SEARCH_EXCLUDED_DIRECTORIES),
    }
    ctx.on('agent/disposed', ({ agent }) => void this.presenceIndexes.delete(agent))
    ctx.on('session/event', (session, event) => {
      if (event.type !== 'tool/result') return
      const agent = ctx.agents.get(session.id)
      if (agent !== undefined) this.presenceIndexes.get(agent)?.invalidate()
    })
  }

  override async list(agent: Agent, query: string, signal: AbortSignal): Promise<Candidate[]> {
    const { cwd } = agent.session.header
    const place = cwd === undefined ? undefined : this.presence.mounts.placeOf(cwd)
    if (place === undefined) return super.list(agent, query, signal)
    let index = this.presenceIndexes.get(agent)
    if (index === undefined) {
      index = new ReferenceIndex(
        this.presence.machine(place.machine),
        this.presence.files(place.machine),
        place.path,
        this.presenceLimits,
      )
      this.presenceIndexes.set(agent, index)
    }
    return index.query(query, signal)
  }
}

export const name = 'presence-file-reference'

/** The workspace registry belongs to the same bundle as the host's references: with it, or not at all. */
export function apply(ctx: Context, config: Config): void {
  ctx.inject(['workspaceRegistry'], (scope) => {
    scope.plugin(PresenceFileReference, config)
  })
}
