/**
 * The host half of Presence as one plugin: the panel, our tools, what the model is told, and connections
 * that are ready before they are needed. The seams are rows of their own (see cordis.patch.yml).
 */
import { createRequire } from 'node:module'
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-system-prompt'
import { sharePresence } from './src/core/presence.ts'
import { runtimeContext } from './src/core/runtime-context.ts'
import { warmUp } from './src/core/warm-up.ts'
import { WorkspaceService, type HostRegistry } from './src/core/workspaces.ts'
import type { HostContext } from './src/panel/host.ts'
import { panelPortOf } from './src/panel/presence-port.ts'
import { registerPanel } from './src/panel/register.ts'
import { bashOnWindows } from './src/tools/bash-on-windows.ts'
import { registerTools } from './src/tools/register.ts'

const { version } = createRequire(import.meta.url)('dsh-presence/package.json') as { version: string }

export const name = 'presence'

export function apply(ctx: Context): void {
  const presence = sharePresence(ctx)
  const registry = (): HostRegistry | undefined => ctx.get('workspaceRegistry') as HostRegistry | undefined
  const workspaces = new WorkspaceService(presence, registry)

  registerPanel(ctx as unknown as HostContext, panelPortOf(presence, workspaces), { version })
  ctx.inject(['systemPrompt'], (scope) => {
    scope.systemPrompt.context({
      name: 'presence:machine',
      order: 115,
      text: ({ agent }) => runtimeContext(presence, agent?.session.header.cwd, agent?.id),
    })
  })
  ctx.inject(['agents'], (scope) => warmUp(scope, presence))
  ctx.inject(['agents', 'tools', 'sandboxPolicy'], (scope) => registerTools(scope, presence))
  if (process.platform === 'win32') ctx.inject(['agents', 'tools'], (scope) => bashOnWindows(scope, presence))
}
