/**
 * On whose behalf something happens: the session whose step or tool call the present asynchronous flow
 * belongs to. The host's seams do not always tell (an absolute path comes without its session), and a
 * guess could end on the wrong computer.
 *
 * Only this file keeps that context; the seams ask it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context } from '@deepseek-ai/cordis'

export interface CurrentSession {
  /** The session's working folder as the host has it, or undefined for one without. */
  readonly cwd: string | undefined
  /** The session's own name in the host. */
  readonly id?: string | undefined
  /** `step`: the host itself looks around before a model step; `tool`: a tool call of the model runs. */
  readonly phase: 'step' | 'tool'
  /** When the tool call began, by `performance.now()`. */
  readonly began?: number
  /** The texts among the tool call's arguments; empty in a step. */
  readonly named: readonly string[]
  /** The tool's name; undefined in a step. */
  readonly tool?: string | undefined
  /** The tool does nothing with a file but change it. */
  readonly changes?: boolean
}

/** As the host names them; a tool that is not here is only served less ahead. */
const CHANGING_TOOLS = new Set(['write', 'edit', 'presence_write', 'presence_edit'])

interface AgentLike {
  readonly id?: string
  readonly session: { readonly header: { readonly cwd?: string } }
}

const flow = new AsyncLocalStorage<CurrentSession>()

export function currentSession(): CurrentSession | undefined {
  return flow.getStore()
}

/** Run something on behalf of a session. */
export function onBehalfOf<T>(session: CurrentSession, run: () => T): T {
  return flow.run(session, run)
}

/** The events of the host that begin work for a session, by the shape we rely on. */
interface HostEvents {
  on(
    name: 'agent/status' | 'agent/inbox/claimed',
    listener: (payload: { readonly agent: AgentLike }) => void,
  ): unknown
  on(
    name: 'agent/pre-step',
    listener: (payload: { readonly agent: AgentLike }, next: () => unknown) => unknown,
    options: { prepend: boolean },
  ): unknown
  on(
    name: 'tools/pre-execute' | 'tools/execute',
    listener: (execution: ToolExecutionLike, next: () => unknown) => unknown,
    options: { prepend: boolean },
  ): unknown
}

interface ToolExecutionLike {
  readonly agent?: AgentLike
  readonly name?: string
  readonly arguments?: unknown
}

/**
 * Follow the host's events. `enterWith` is used on purpose: what the host does after the event, in the
 * same flow (reading instructions, publishing a tool's result), still belongs to that session. The
 * earlier events of a turn are followed too, since other listeners may stand before ours in the later.
 */
export function followSessions(ctx: Context): void {
  const events = ctx as unknown as HostEvents
  const first = { prepend: true }
  const enterStep = ({ agent }: { readonly agent: AgentLike }): void =>
    flow.enterWith({ cwd: agent.session.header.cwd, id: agent.id, phase: 'step', named: [] })
  const enterTool = (execution: ToolExecutionLike, next: () => unknown): unknown => {
    const { agent, name: tool } = execution
    const changes = tool !== undefined && CHANGING_TOOLS.has(tool)
    const named = textsOf(execution.arguments)
    const began = performance.now()
    flow.enterWith({
      cwd: agent?.session.header.cwd,
      id: agent?.id,
      phase: 'tool',
      tool,
      began,
      named,
      changes,
    })
    return next()
  }
  events.on('agent/status', enterStep)
  events.on('agent/inbox/claimed', enterStep)
  events.on(
    'agent/pre-step',
    (payload, next) => {
      enterStep(payload)
      return next()
    },
    first,
  )
  events.on('tools/pre-execute', enterTool, first)
  events.on('tools/execute', enterTool, first)
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((item) => (typeof item === 'string' ? [item] : []))
}
