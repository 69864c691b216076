/** Presence in a bare Cordis context with a real machine, for examining it as the selfcheck row does. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import { FsError } from '@deepseek-ai/dsh-fs'
import { SandboxedFileSystem } from '@deepseek-ai/dsh-fs-sandbox'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh, type OpenSshOptions } from '../../scripts/machine/openssh.ts'
import { sharePresence, type Presence } from '../../src/core/presence.ts'
import type { HostClasses } from '../../src/selfcheck/check.ts'
import type { Report } from '../../src/selfcheck/report.ts'
import { selfcheck, type SelfcheckOptions } from '../../src/selfcheck/selfcheck.ts'
import { bareSubjects, type Subjects } from '../../src/selfcheck/subjects.ts'
import { entryOf } from '../support/host.ts'

export interface Examination {
  readonly ctx: Context
  readonly presence: Presence
  readonly machine: DemoMachine
  readonly host: HostClasses
  /** DSH_HOME of the context. */
  readonly home: string
  /** Fresh instances, free to be broken. */
  subjects(): Subjects
  run(options?: Partial<SelfcheckOptions>): Promise<Report>
  stop(): Promise<void>
}

export async function startExamination(server: Partial<OpenSshOptions> = {}): Promise<Examination> {
  const folder = realpathSync(mkdtempSync('/var/tmp/presence-selfcheck-rig-'))
  const home = join(folder, 'dsh')
  mkdirSync(join(home, 'presence'), { recursive: true })
  const machine = await startOpenSsh({ folder: join(folder, 'machine'), ...server })
  writeFileSync(join(home, 'presence/machines.yml'), JSON.stringify({ demo: entryOf(machine) }))
  process.env['DSH_HOME'] = home
  const ctx = new Context()
  const presence = sharePresence(ctx)
  const host = { FsError, SandboxedFileSystem }
  return {
    ctx,
    presence,
    machine,
    host,
    home,
    subjects: () => bareSubjects(ctx),
    run: (options = {}) =>
      selfcheck({
        presence,
        subjects: bareSubjects(ctx),
        machine: 'demo',
        folder: undefined,
        host,
        versions: { presence: '0', host: '0', node: process.versions.node },
        signal: new AbortController().signal,
        ...options,
      }),
    stop: async () => {
      presence.close()
      await machine.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Names of the checks that failed. */
export function failedIn(report: Report): string[] {
  return report.checks.filter((check) => !check.passed).map((check) => check.name)
}
