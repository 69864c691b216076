/** Takes steps one after another, each of them in the journal before it has any effect. */
import { isLeaving } from '../project/endings.ts'
import { InstallError } from './failure.ts'
import type { Journal, Phase } from './journal.ts'

export interface Step {
  readonly name: string
  /** What it does, for `--what-if`: a verb and its objects. */
  readonly says: string
  /** The journal's phase from this step on; undefined: as before. */
  readonly phase?: Phase
  run(journal: Journal): Promise<void>
}

/**
 * `stoppable`: a signal to this process ends it between two steps.
 * @throws InstallError `interrupted` then.
 */
export async function take(
  steps: readonly Step[],
  journal: Journal,
  { stoppable }: { readonly stoppable: boolean },
): Promise<void> {
  for (const step of steps) {
    if (stoppable && isLeaving()) {
      throw new InstallError('interrupted', `Interrupted before the step "${step.name}".`)
    }
    const { phase } = step
    await journal.note({ step: step.name, ...(phase === undefined ? {} : { phase }) })
    await at('before', step.name)
    await step.run(journal)
    await at('after', step.name)
  }
}

/**
 * For tests of what a sudden end leaves: this process kills itself at the point that the environment
 * names, `after:unpack` for instance.
 */
export async function at(when: 'before' | 'after', step: string): Promise<void> {
  if (process.env['PRESENCE_INSTALL_KILL_AT'] !== `${when}:${step}`) return
  process.kill(process.pid, 'SIGKILL')
  // The signal may need a moment to arrive; nothing may happen meanwhile.
  await new Promise(() => setInterval(() => undefined, 1000))
}
