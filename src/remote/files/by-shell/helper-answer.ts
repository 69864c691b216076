/** Asking the helper shell what SFTP can be asked too: without an answer the caller goes the other way. */
import { PresenceError } from '../../../base/failure.ts'
import { ChannelError } from '../../../ssh/errors.ts'
import type { HelperAnswer, HelperQuestion } from '../../shell/helper-shell.ts'
import type { MachineSession } from '../../session.ts'

/**
 * @returns undefined when there is no helper shell to be had (a server with one session), or it broke.
 * @throws LinkLostError when the connection did: what is half known must not be taken for the whole; CancelledError.
 */
export async function answerOf(
  session: MachineSession,
  script: string,
  question: HelperQuestion,
): Promise<HelperAnswer | undefined> {
  try {
    return await (await session.helper(question.signal)).run(script, question)
  } catch (error) {
    if (error instanceof ChannelError) return undefined
    const broke = error instanceof PresenceError && error.family === 'transport'
    if (!broke || !session.link.alive) throw error
    return undefined
  }
}
