/** Playing the browser: sessions of a running `dsh web` over its own calls, and the panel's API. */
import type { WebHost } from '../../scripts/host/web.ts'
import type { SessionEvent } from '../../scripts/host/session-log.ts'
import type { Step } from '../../scripts/model/script.ts'
import { SECRET_HEADER, type WorkspaceView } from '../../src/wire/api.ts'
import { earOf, openEvents } from './session-events.ts'

export interface ToolResult {
  readonly tool: string
  readonly text: string
  readonly isError: boolean
}

/** Make a workspace through the panel, as the page does. */
export async function makeWorkspace(web: WebHost, host: string, path: string): Promise<WorkspaceView> {
  const answer = await callPanel(web, 'POST', 'workspaces', { host, path })
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
  return (answer.body as { workspace: WorkspaceView }).workspace
}

export async function callPanel(
  web: WebHost,
  method: string,
  route: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const session = (await (await fetch(`${web.url}/api/presence/session`)).json()) as { secret: string }
  const response = await fetch(`${web.url}/api/presence/${route}`, {
    method,
    headers: { [SECRET_HEADER]: session.secret, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

export async function openSession(
  web: WebHost,
  where: ({ workspaceId: string } | { cwd: string }) & { agentPreset?: string },
): Promise<string> {
  return (await web.rpc<{ sessionId: string }>('session.create', where)).sessionId
}

/** Let the model play these steps in a session, and wait for the turn's end. @returns its tool results. */
export async function play(web: WebHost, sessionId: string, steps: readonly Step[]): Promise<ToolResult[]> {
  const ear = await earOf(web)
  const turn = ear.nextTurn(sessionId)
  const text = `SCRIPT: ${JSON.stringify([...steps, { text: 'done' }])}`
  await web.rpc('session.prompt', { sessionId, mode: 'queue', content: [{ type: 'text', text }] })
  return resultsOf(await turn)
}

function resultsOf(events: readonly SessionEvent[]): ToolResult[] {
  const names = new Map<string, string>()
  for (const event of events) {
    if (event.type !== 'tool/call') continue
    const { callId, name } = event.data as { callId: string; name: string }
    names.set(callId, name)
  }
  return events
    .filter((event) => event.type === 'tool/result')
    .flatMap((event) => {
      const { message } = event.data as {
        message: {
          content: { toolCallId: string; isError?: boolean; content: { text?: string }[] }[]
        }
      }
      return message.content.map((part) => ({
        tool: names.get(part.toolCallId) ?? '',
        text: part.content.map((piece) => piece.text ?? '').join('\n'),
        isError: part.isError === true,
      }))
    })
}

/** Choose a permission preset as a person does: `read-only`, `workspace-write` or `danger-full-access`. */
export async function permit(web: WebHost, sessionId: string, preset: string): Promise<void> {
  await web.rpc('commands/execute', {
    args: { agentId: sessionId, line: `/permission ${preset}`, images: [] },
  })
}

export interface Approvals {
  /** What was asked for so far. */
  readonly asked: readonly { readonly toolName: string; readonly reason: string }[]
  close(): void
}

/** A person at the page who answers every request for approval in the same way. */
export async function answerApprovals(
  web: WebHost,
  outcome: 'allowed-once' | 'rejected',
): Promise<Approvals> {
  const asked: { toolName: string; reason: string }[] = []
  const answer = async (frame: string): Promise<void> => {
    const { rpcId, payload } = JSON.parse(frame) as { rpcId: string; payload?: Record<string, string> }
    if (payload?.['type'] !== 'approval/requested') return
    const { sessionId, approvalId, toolName = '', reason = '' } = payload
    asked.push({ toolName, reason })
    await fetch(`${web.url}/api/respond`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        type: 'client-response',
        rpcId,
        result: { ok: true, value: { sessionId, approvalId, outcome } },
      }),
    })
  }
  const socket = await openEvents(web, (frame) => void answer(frame))
  return { asked, close: () => socket.close() }
}
