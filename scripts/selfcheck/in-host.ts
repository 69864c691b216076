/** A selfcheck inside a real DSH: one headless turn with the row beside everything that is installed. */
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Report } from '../../src/selfcheck/report.ts'
import type { DshHome } from '../host/dsh-home.ts'
import { headlessTurn } from '../host/headless.ts'

export interface SelfcheckTurn {
  /** Undefined when the row did not come to write one. */
  readonly report: Report | undefined
  /** What DSH printed, both streams. */
  readonly output: string
}

/** Milliseconds; DSH finishes starting when the checks are finished, which is long on a slow line. */
const DEADLINE_MS = 900_000

/**
 * @param home - with Presence installed in its headless profile, and a model that answers.
 * @param reportFile - absolute; what is there before is removed.
 * @throws when DSH cannot be started or does not end.
 */
export async function selfcheckTurn(
  home: DshHome,
  config: { readonly machine: string; readonly folder: string | undefined },
  reportFile: string,
): Promise<SelfcheckTurn> {
  const overlay = join(home.folder, 'selfcheck.patch.yml')
  const row = {
    id: 'presence-selfcheck',
    name: 'dsh-presence/selfcheck',
    config: {
      machine: config.machine,
      report: reportFile,
      ...(config.folder === undefined ? {} : { folder: config.folder }),
    },
  }
  await writeFile(overlay, stringify([{ insert: [row] }]))
  await rm(reportFile, { force: true })
  const turn = await headlessTurn(
    { ...home, dsh: [...home.dsh, '--patch', overlay] },
    { cwd: home.folder, prompt: 'Say that you are there.', timeoutMs: DEADLINE_MS },
  )
  const written = existsSync(reportFile) ? await readFile(reportFile, 'utf8') : undefined
  return {
    report: written === undefined ? undefined : (JSON.parse(written) as Report),
    output: `${turn.stdout}${turn.stderr}`,
  }
}
