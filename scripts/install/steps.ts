/** Takes steps one after another, each of them in the journal before it has any effect. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isLeaving } from '../project/endings.ts'
import { InstallError } from './failure.ts'
import type { Journal, Phase } from './journal.ts'

/** How often a file that somebody is to remove is looked for. */
const PAUSE_MS = 5

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
 * names, `after:unpack` for instance. Or it waits at every point until a file of that name, which it makes in the
 * folder that the environment names, is removed: what stands on the disk meanwhile is what an end there leaves.
 */
export async function at(when: 'before' | 'after', step: string): Promise<void> {
  const point = `${when}:${step}`
  const pauses = process.env['PRESENCE_INSTALL_PAUSES']
  if (pauses !== undefined) {
    const file = join(pauses, point)
    await writeFile(file, '')
    while (existsSync(file)) await new Promise((resume) => setTimeout(resume, PAUSE_MS))
  }
  if (process.env['PRESENCE_INSTALL_KILL_AT'] !== point) return
  process.kill(process.pid, 'SIGKILL')
  // The signal may need a moment to arrive; nothing may happen meanwhile.
  await new Promise(() => setInterval(() => undefined, 1000))
}
