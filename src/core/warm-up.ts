/**
 * Connecting when a session opens in a remote workspace, so that its first tool call does not pay for it and for the
 * shell that its questions go to, nor its first command for the account's start-up files. A failure is silent here:
 * the first use tells it, with everything that is known by then.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Presence } from './presence.ts'

export function warmUp(ctx: Context, presence: Presence): void {
  const connect = (agent: Agent): void => {
    const { cwd } = agent.session.header
    const place = cwd === undefined ? null : presence.mounts.parse(cwd)
    if (place === null) return
    presence
      .machine(place.machine)
      .session()
      .then(async (session) => {
        if (session.shell === undefined) return
        session.shells.prepare()
        await session.fileHelper()
      })
      .catch((_toldAtFirstUse: unknown) => undefined)
  }
  for (const agent of ctx.agents.list()) connect(agent)
  ctx.on('agent/created', ({ agent }) => connect(agent))
}
