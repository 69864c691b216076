/** What every tool is made with, and the parts of the host it speaks to, by shape. */
import type { Context } from '@deepseek-ai/cordis'
import type { Presence } from '../core/presence.ts'
import type { Terminals } from './terminals.ts'

export interface ToolDeps {
  readonly ctx: Context
  readonly presence: Presence
  readonly terminals: Terminals
}
