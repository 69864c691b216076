/** One turn of the real DSH in its headless profile, in a given folder. */
import { run } from '../project/children.ts'
import type { DshHome } from './dsh-home.ts'
import { readSession, sessionFiles, type SessionLog } from './session-log.ts'

export interface HeadlessOptions {
  /** The session's folder: DSH takes the working directory for it. */
  readonly cwd: string
  readonly prompt: string
  readonly profile?: string
  readonly timeoutMs?: number
}

export interface HeadlessTurn {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** The session this turn made; undefined when DSH did not come that far. */
  readonly session: SessionLog | undefined
}

const TURN_DEADLINE_MS = 180_000

export async function headlessTurn(home: DshHome, options: HeadlessOptions): Promise<HeadlessTurn> {
  const before = new Set(await sessionFiles(home.folder))
  const argv = [...home.dsh, '--profile', options.profile ?? 'headless', options.prompt]
  const { code, stdout, stderr } = await run(argv, {
    cwd: options.cwd,
    env: home.env,
    timeoutMs: options.timeoutMs ?? TURN_DEADLINE_MS,
  })
  const made = (await sessionFiles(home.folder)).filter((file) => !before.has(file))
  const sessions = await Promise.all(made.map(readSession))
  // Sub-agents have sessions of their own; the one that was asked is the one with this folder's prompt.
  const session = sessions.find((one) => promptOf(one) === options.prompt) ?? sessions[0]
  return { code, stdout, stderr, session }
}

interface PromptData {
  readonly content: readonly { readonly text?: string }[]
  readonly source?: { readonly kind: string }
}

function promptOf(session: SessionLog): string | undefined {
  const messages = session.events.filter((event) => event.type === 'user/message')
  const first = messages.map((event) => event.data as PromptData).find((data) => data.source?.kind === 'user')
  return first?.content.map((part) => part.text ?? '').join('')
}
