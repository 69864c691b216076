/** A folder on a machine of the user's own SSH configuration, as a target. */
import { quote } from '../../src/base/shell-word.ts'
import { witnessOfAlias } from '../machine/independent.ts'
import type { Target } from './target.ts'

/** @throws when the machine does not answer or has no such folder, as `ssh` itself tells. */
export async function ownTarget(own: { alias: string; path: string }, unconfined: boolean): Promise<Target> {
  const witness = witnessOfAlias(own.alias)
  const found = await witness.run(`cd -- ${quote(own.path)} && pwd -P`)
  if (found.code !== 0) {
    throw new Error(
      `${own.alias} does not have the folder ${own.path}, or cannot be reached; \`${witness.how}\` says:\n${found.stderr.trim()}`,
    )
  }
  return {
    alias: own.alias,
    folder: own.path,
    entry: unconfined ? { unconfined: true } : undefined,
    witness,
    about: [`a machine of your own; \`${witness.how}\` is used to check it`],
  }
}
