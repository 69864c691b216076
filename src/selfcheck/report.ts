/** The result of a selfcheck: as data for a file, and as a table for a person. */
import { chmod, rename, rm, writeFile } from 'node:fs/promises'

export interface CheckResult {
  readonly name: string
  readonly passed: boolean
  readonly ms: number
  /** What was found instead, or a note to a check that has passed; may be empty. */
  readonly detail: string
}

export interface Capabilities {
  /** The server's identification line. */
  readonly server: string
  readonly sftp: boolean
  /** Undefined when the account runs no commands. */
  readonly shell:
    | {
        readonly os: string
        readonly loginShell: string
        readonly stat: string
        readonly temporary: string
        readonly confinement: 'bwrap' | 'namespaces' | undefined
        readonly programs: readonly string[]
      }
    | undefined
}

export interface Report {
  readonly machine: string
  /** The fresh folder the checks worked in; undefined when none could be made. */
  readonly folder: string | undefined
  /** ISO 8601. */
  readonly began: string
  readonly versions: Readonly<Record<'presence' | 'host' | 'node', string>>
  readonly capabilities: Capabilities | undefined
  readonly checks: readonly CheckResult[]
  /** Why no check could be made at all. */
  readonly prevented: string | undefined
  /** What could not be removed, a sentence each. */
  readonly leftovers: readonly string[]
  readonly passed: number
  readonly failed: number
}

/** Write the report for its owner's eyes alone. @throws the file system's own error. */
export async function writeReport(file: string, report: Report): Promise<void> {
  const part = `${file}.${process.pid}.part`
  try {
    await writeFile(part, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 })
    await chmod(part, 0o600)
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** The report for a terminal; its last line is `N passed, N failed`. */
export function tableOf(report: Report): string {
  const { versions, capabilities } = report
  const lines = [
    `Presence ${versions.presence} with host ${versions.host} on Node ${versions.node}`,
    `Machine  ${report.machine}${report.folder === undefined ? '' : `:${report.folder}`}`,
    ...(capabilities === undefined ? [] : [`Offers   ${offered(capabilities)}`]),
    '',
  ]
  for (const { name, passed, ms, detail } of report.checks) {
    lines.push(`${passed ? 'passed' : 'FAILED'} ${String(Math.round(ms)).padStart(6)} ms  ${name}`)
    if (detail !== '')
      lines.push(detail.replace(/^/gm, `                  ${passed ? '(' : '! '}`) + (passed ? ')' : ''))
  }
  if (report.prevented !== undefined) lines.push('', `No check could be made: ${report.prevented}`)
  lines.push(...report.leftovers.map((leftover) => `Left behind: ${leftover}`))
  lines.push('', `${report.passed} passed, ${report.failed} failed`)
  return lines.join('\n')
}

const CONFINED = {
  bwrap: 'confined by bubblewrap',
  namespaces: 'confined by user namespaces',
  none: 'no confinement',
} as const

function offered({ server, sftp, shell }: Capabilities): string {
  const commands =
    shell === undefined
      ? 'no commands'
      : `commands (${shell.os}, ${shell.programs.join(' ') || 'no program of interest'}; ` +
        `${CONFINED[shell.confinement ?? 'none']})`
  return `${sftp ? 'SFTP' : 'no SFTP'}, ${commands}; ${server}`
}
