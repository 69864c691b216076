/**
 * The session's sandbox mode for a tool that changes things, with the host's own way to ask for more: the
 * same arguments, the same approval, the same words as its built-in tools.
 */
import type { Context } from '@deepseek-ai/cordis'
import {
  ESCALATION_TARGETS,
  approveEscalation,
  escalationHintMarker,
  sandboxDenialMarker,
  validateEscalationArgs,
  type EscalationApprover,
  type SandboxMode,
} from '@deepseek-ai/dsh-sandbox'
import { FsError } from '@deepseek-ai/dsh-fs'
import type {} from '@deepseek-ai/dsh-sandbox-policy'
import type { ToolRunContext } from '@deepseek-ai/dsh-tools'
import type { Presence } from '../core/presence.ts'
import { UnconfinedError, type SessionPolicy } from '../core/sandbox-policy.ts'
import { inHostTerms, toFsError } from '../host/errors.ts'
import { sessionPlace } from './target.ts'

export interface PermissionArguments {
  readonly sandbox_permissions?: string
  readonly justification?: string
}

/** Schema fields of a tool that changes things. */
export const PERMISSION_PARAMETERS = {
  sandbox_permissions: {
    type: 'string',
    enum: [...ESCALATION_TARGETS],
    description:
      'The wider sandbox mode this call needs. Only as a one-shot retry of a call the sandbox just denied; needs justification and the approval of the user.',
  },
  justification: {
    type: 'string',
    description:
      'With sandbox_permissions: one sentence that tells the user why this call needs wider access.',
  },
} as const

/**
 * The policy this call runs under; asks the user first when the call asks for more.
 * @param subject - the host's noun for what is asked: `command` or `operation`.
 * @throws when the request is malformed, not wider, or not approved.
 */
export async function policyFor(
  ctx: Context,
  presence: Presence,
  exec: ToolRunContext,
  args: PermissionArguments,
  subject: 'command' | 'operation',
): Promise<SessionPolicy> {
  validateEscalationArgs(args.sandbox_permissions, args.justification)
  const standing = ctx.sandboxPolicy.resolve(exec.agent === undefined ? {} : { session: exec.agent.session })
  // A local session's own folder is on another computer; its remote workspace is the current one.
  const workspace =
    (await inHostTerms(async () => sessionPlace(presence, exec))) ?? presence.workspaces.active
  if (args.sandbox_permissions === undefined || args.justification === undefined) {
    return { mode: standing.mode, workspace }
  }
  const mode: SandboxMode = await approveEscalation(
    {
      requestedMode: args.sandbox_permissions,
      justification: args.justification,
      effectiveMode: standing.mode,
      subject,
    },
    {
      approver: ctx.get('approval') as EscalationApprover | undefined,
      agent: exec.agent,
      callId: exec.callId,
      toolName: exec.name,
      signal: exec.signal,
    },
  )
  return { mode, workspace }
}

/** Run a change; a denial becomes the host's marker and hint. */
export async function permitted<T>(policy: SessionPolicy, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof UnconfinedError) throw error
    const failure = toFsError(error)
    if (!(failure instanceof FsError) || failure.code !== 'FS_SANDBOX_DENIED') throw failure
    throw new FsError(
      `${sandboxDenialMarker(policy.mode)}\n${escalationHintMarker('operation')}\n${failure.message}`,
      'FS_SANDBOX_DENIED',
      { cause: error },
    )
  }
}
