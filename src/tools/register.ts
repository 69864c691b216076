/**
 * Our tools for the sessions they are for: those on a machine, those beside a current workspace, and all
 * of them where Presence has no other way to a machine (tools-only mode). Other local sessions see
 * nothing of Presence, so that their prompts stay as they were.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import type { Presence } from '../core/presence.ts'
import type { ToolDeps } from './deps.ts'
import { editTool } from './edit.ts'
import { execTool } from './exec.ts'
import { hostsTool } from './hosts.ts'
import { listTool } from './list.ts'
import { readTool } from './read.ts'
import { searchTool } from './search.ts'
import { terminalTool } from './terminal.ts'
import { Terminals } from './terminals.ts'
import { writeTool } from './write.ts'
import { wrongComputer } from './wrong-computer.ts'

export function presenceTools(deps: ToolDeps): ToolDefinition[] {
  return [hostsTool, listTool, readTool, writeTool, editTool, searchTool, execTool, terminalTool].map(
    (tool) => tool(deps),
  )
}

/** @param ctx - has `agents`, `tools` and `sandboxPolicy`. */
export function registerTools(ctx: Context, presence: Presence): void {
  const terminals = new Terminals()
  const tools = presenceTools({ ctx, presence, terminals })
  const registered = new Map<Agent, () => Promise<unknown>>()

  const isFor = (agent: Agent): boolean => {
    const { cwd } = agent.session.header
    if (cwd !== undefined && presence.mounts.locate(cwd).world !== 'local') return true
    return presence.workspaces.active !== undefined || presence.seams.size === 0
  }
  const decide = (agent: Agent): void => {
    const present = registered.get(agent)
    if (isFor(agent) === (present !== undefined)) return
    if (present !== undefined) {
      registered.delete(agent)
      void present()
      return
    }
    const fiber = agent.ctx.inject(['tools'], (scope) => {
      for (const tool of tools) scope.effect(() => scope.tools.register(tool), `presence: ${tool.name}`)
    })
    registered.set(agent, () => Promise.resolve(fiber.dispose()))
  }

  ctx.effect(() => ctx.tools.guard((call) => wrongComputer(presence, call)), 'presence: wrong computer')
  ctx.effect(() => {
    for (const agent of ctx.agents.list()) decide(agent)
    const stop = presence.workspaces.changed.on(() => {
      for (const agent of ctx.agents.list()) decide(agent)
    })
    return async () => {
      stop()
      await Promise.all([...registered.values()].map((dispose) => dispose()))
      await terminals.closeEverything()
    }
  }, 'presence: tools')
  ctx.on('agent/created', ({ agent }) => decide(agent))
  ctx.on('agent/disposed', ({ agent }) => {
    registered.delete(agent)
    void terminals.closeAll(agent)
  })
}
