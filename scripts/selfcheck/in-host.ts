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

export interface RowConfig {
  readonly machine: string
  /** Folder on the machine; undefined: the row's own choice. */
  readonly folder: string | undefined
  /** Absolute file for the report; what is there before is removed. */
  readonly report: string
}

/** The same home, whose `dsh` has the row beside everything that is installed. */
export async function withRow(home: DshHome, { machine, folder, report }: RowConfig): Promise<DshHome> {
  const overlay = join(home.folder, 'selfcheck.patch.yml')
  const config = { machine, report, ...(folder === undefined ? {} : { folder }) }
  const row = { id: 'presence-selfcheck', name: 'dsh-presence/selfcheck', config }
  await writeFile(overlay, stringify([{ insert: [row] }]))
  await rm(report, { force: true })
  return { ...home, dsh: [...home.dsh, '--patch', overlay] }
}

/**
 * @param home - with Presence installed in its headless profile, and a model that answers.
 * @throws when DSH cannot be started or does not end.
 */
export async function selfcheckTurn(home: DshHome, config: RowConfig): Promise<SelfcheckTurn> {
  const turn = await headlessTurn(await withRow(home, config), {
    cwd: home.folder,
    prompt: 'Say that you are there.',
    timeoutMs: DEADLINE_MS,
  })
  const written = existsSync(config.report) ? await readFile(config.report, 'utf8') : undefined
  return {
    report: written === undefined ? undefined : (JSON.parse(written) as Report),
    output: `${turn.stdout}${turn.stderr}`,
  }
}
