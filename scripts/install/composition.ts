/**
 * What DSH says a profile is composed of (`dsh --profile X --dump-config`), and whether that is what a
 * mode of Presence should look like. Every name of a host's row that the installer relies on is here.
 */
import type { Outcome } from '../project/children.ts'
import { InstallError } from './failure.ts'
import type { Mode } from './options.ts'
import { callDsh, endOf, type Programs } from './programs.ts'
import { PACKAGE, type Profile } from './profile.ts'

export interface Row {
  readonly id: string
  /** Switched off by `disabled: true`. An expression is decided at boot and counts as switched on. */
  readonly off: boolean
  /** The layer that brought it and those that changed it, in order. */
  readonly layers: readonly string[]
}

export interface Composition {
  readonly rows: ReadonlyMap<string, Row>
  /** What DSH warned of: patches whose row it does not know, above all. */
  readonly warnings: readonly string[]
}

/** The version this was developed and tested with. */
export const TESTED_DSH: readonly string[] = ['0.1.0-rc.8']

/** Rows of the host and what stands in for them in mode `fs`. */
const REPLACED: readonly { readonly row: string; readonly by: string; readonly everywhere: boolean }[] = [
  { row: 'fs-sandbox', by: 'presence-fs', everywhere: true },
  { row: 'subprocess', by: 'presence-subprocess', everywhere: true },
  { row: 'sandbox', by: 'presence-sandbox', everywhere: true },
  // Only profiles with a web page complete "@" references.
  { row: 'file-reference-local', by: 'presence-file-reference', everywhere: false },
]

const OWN_ROW = 'presence'

/** @throws InstallError `wrong-composition` with DSH's own words when it cannot compose the profile. */
export async function askComposition(
  programs: Programs,
  profile: Profile,
  env: NodeJS.ProcessEnv,
): Promise<Composition> {
  const outcome = await callDsh(programs, profile, ['--profile', profile.name, '--dump-config'], env)
  if (outcome.code !== 0) throw unreadable(profile, outcome)
  return parseComposition(outcome.stdout, outcome.stderr)
}

export function parseComposition(dump: string, errors: string): Composition {
  const rows = new Map<string, Row>()
  let layers: readonly string[] = []
  for (const part of dump.split(/^(?=- |# == )/m)) {
    const label = /^# == (.*)/.exec(part)?.[1]
    if (label !== undefined) layers = label.split(/, patched by |, /)
    // Keys of the row itself are indented by two; those of its configuration by more.
    const id = /^(?:- | {2})id: ['"]?([^'"\s]+)/m.exec(part)?.[1]
    if (id !== undefined) rows.set(id, { id, off: /^ {2}disabled: true$/m.test(part), layers })
  }
  return { rows, warnings: errors.split('\n').filter((line) => line.startsWith('dsh: [')) }
}

/**
 * The composition is that of a mode, with remarks on what deserves a look.
 * @throws InstallError `wrong-composition`.
 */
export function judgeInstalled(composition: Composition, mode: Mode, profile: Profile): string[] {
  const { rows } = composition
  const wrong: string[] = []
  const expectOn = (id: string): void => {
    const row = rows.get(id)
    if (row === undefined) wrong.push(`the row "${id}" is missing`)
    else if (row.off) wrong.push(`the row "${id}" is switched off by ${lastOf(row)}`)
  }
  expectOn(OWN_ROW)
  for (const { row: id, by, everywhere } of REPLACED) {
    const row = rows.get(id)
    if (mode === 'tools') {
      if (rows.has(by)) wrong.push(`the row "${by}" is there, which belongs to the mode fs`)
      continue
    }
    expectOn(by)
    if (row === undefined && everywhere) {
      wrong.push(`this DSH has no row "${id}" that "${by}" could replace: Presence does not know this DSH`)
    } else if (row !== undefined && !row.off) {
      wrong.push(`the row "${id}" is still switched on (${row.layers.join(', ')}), beside "${by}"`)
    }
  }
  if (wrong.length > 0) {
    const hint = `See ${profile.patchFile} and the patches of the other plugins.`
    throw new InstallError(
      'wrong-composition',
      `DSH composes the profile otherwise: ${wrong.join('; ')}. ${hint}`,
    )
  }
  return mode === 'fs' ? remarks(composition, profile) : unknownRows(composition)
}

/** What is left of Presence after taking it out; empty: nothing. */
export function judgeRemoved(composition: Composition): string[] {
  return [...composition.rows.values()]
    .filter((row) => row.layers.includes(PACKAGE))
    .map((row) => `the row "${row.id}" still comes from or is changed by ${PACKAGE}`)
}

/** The user's settings for a row that is replaced reach nobody: that must be said. */
function remarks(composition: Composition, profile: Profile): string[] {
  const lost = REPLACED.filter(({ row }) =>
    composition.rows.get(row)?.layers.some((layer) => layer.startsWith(profile.home)),
  ).map(
    ({ row, by }) =>
      `Your own patches change the row "${row}", which Presence replaces: they do not reach "${by}".`,
  )
  return [...lost, ...unknownRows(composition)]
}

function unknownRows(composition: Composition): string[] {
  const optional = REPLACED.filter((one) => !one.everywhere).map((one) => `"${one.row}" not found`)
  return composition.warnings
    .filter((line) => !optional.some((text) => line.includes(`[${PACKAGE}]`) && line.endsWith(text)))
    .map((line) => `DSH says: ${line.replace(/^dsh: /, '')}`)
}

function lastOf(row: Row): string {
  return row.layers.at(-1) ?? 'nobody known'
}

function unreadable(profile: Profile, outcome: Outcome): InstallError {
  const output = `${outcome.stdout}${outcome.stderr}`.trim()
  return new InstallError(
    'wrong-composition',
    `DSH cannot compose the profile "${profile.name}" (${endOf(outcome)}):\n${output}`,
  )
}
