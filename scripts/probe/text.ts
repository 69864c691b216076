/** A probe's result for a terminal. */
import type { ProbedCapabilities, ProbeResult, RoundTrips } from './result.ts'

const WIDTH = 17

export function textOf(result: ProbeResult): string {
  const { settings, connection, capabilities, roundTrips, failure } = result
  const rows: [string, string][] = [['Machine', result.machine]]
  if (settings !== null) {
    const by = settings.resolvedBy === null ? "by Presence's own evaluation" : `by ${settings.resolvedBy} -G`
    rows.push(['Address', `${settings.host} port ${settings.port}, as ${settings.user}`])
    rows.push(['Configuration', `${settings.files.join(', ') || 'no file'}; resolved ${by}`])
  }
  if (connection !== null) {
    const { hostKey } = connection
    rows.push(['Connected to', connection.address])
    rows.push(['Host key', hostKey === null ? 'not told' : `${hostKey.type} ${hostKey.sha256}`])
    rows.push(['Authenticated by', connection.method])
    rows.push(['Server', connection.identification])
  }
  rows.push(['Stages', result.stages.map(({ stage, ms }) => `${stage} ${ms} ms`).join(', ')])
  if (capabilities !== null) rows.push(...capabilityRows(capabilities))
  if (roundTrips !== null) rows.push(['Round trips', roundTripText(roundTrips)])
  rows.push(...result.warnings.map((warning): [string, string] => ['Warning', warning]))
  const lines = rows.map(([title, text]) => `${title.padEnd(WIDTH)}${text}`)
  if (failure !== null) {
    lines.push(
      '',
      `FAILED at the stage "${failure.stage}" (${failure.code})`,
      failure.reason,
      `What to do: ${failure.advice}`,
    )
  }
  return lines.join('\n')
}

function capabilityRows({ files, noCommands, loginShell, shell }: ProbedCapabilities): [string, string][] {
  const rows = fileRows(files)
  if (shell === null) {
    const login = loginShell === 'unknown' ? '' : ` (${loginShell})`
    return [...rows, ['Commands', `none${login}: ${noCommands ?? 'not known why'}`]]
  }
  const programs = Object.entries(shell.programs)
  const missing = programs.flatMap(([name, path]) => (path === null ? [name] : []))
  const found = programs.flatMap(([, path]) => path ?? [])
  const { lcAll, lang, charmap, utf8 } = shell.locale
  return [
    ...rows,
    ['Commands', `${shell.os}, as ${shell.user} in ${shell.home}`],
    [
      'Login shell',
      `${loginShell}, which quotes ${shell.quoting === 'posix' ? 'as POSIX has it' : 'its own way'}`,
    ],
    [
      'Programs',
      `${found.join(', ') || 'none'}${missing.length === 0 ? '' : `; missing: ${missing.join(', ')}`}`,
    ],
    ['Tools', `stat: ${shell.stat}, find: ${shell.find}`],
    [
      'Locale',
      `${lcAll || lang || 'not set'}${charmap === '' ? '' : ` (${charmap})`}${utf8 ? '' : ', not UTF-8'}`,
    ],
    ['Temporary folder', shell.temporary],
    ['Changes seen to', seenTo(shell.stat)],
    ['Confinement', confinement(shell.confinement)],
  ]
}

function fileRows({
  reason,
  by,
  start,
  extensions,
  sameAsCommands,
}: ProbedCapabilities['files']): [string, string][] {
  if (by === null) return [['Files', `none: ${reason ?? 'the account has no SFTP'}`]]
  const offered = Object.keys(extensions)
  const where = start === null ? '' : `, beginning in ${start}`
  return [
    ['Files', `SFTP${by === 'service' ? '' : ` by ${by}`}${where}`],
    ['SFTP extensions', offered.join(', ') || 'none'],
    ...(sameAsCommands === 'different'
      ? [['Folders', 'not those that commands see'] satisfies [string, string]]
      : []),
  ]
}

function confinement(means: 'bwrap' | 'namespaces' | null): string {
  switch (means) {
    case 'bwrap':
      return 'bubblewrap, which works there'
    case 'namespaces':
      return 'user namespaces, which work there'
    case null:
      return 'none: neither bubblewrap nor user namespaces can be used'
  }
}

function seenTo(stat: string): string {
  return stat === 'gnu' || stat === 'bsd'
    ? `the nanosecond, by its stat (${stat})`
    : 'the second, and by comparing contents'
}

function roundTripText({ sftpStat, shellQuestion, command }: RoundTrips): string {
  const figures: [string, number | null][] = [
    ['SFTP stat', sftpStat],
    ['question to a shell', shellQuestion],
    ['command', command],
  ]
  return `${figures.flatMap(([what, ms]) => (ms === null ? [] : `${what} ${ms} ms`)).join(', ')} (medians)`
}
