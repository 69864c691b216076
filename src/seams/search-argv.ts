/** The host's `rg` command line for the machine's search: same options, the machine's operands. */
import { basename, isAbsolute } from 'node:path'
import { joinRemote, type RemotePath } from '../base/remote-path.ts'
import type { Presence } from '../core/presence.ts'
import { StartError } from '../remote/process/errors.ts'
import type { MachineSession } from '../remote/session.ts'

/** The host's own search program, which lies among its packages and not on the machine. */
export function isSearch(argv: readonly string[]): boolean {
  const [program = '', first] = argv
  return isAbsolute(program) && /^(.*-)?rg(\.exe)?$/.test(basename(program)) && first === '--no-config'
}

/** What a search is told to search; nothing means its folder. */
function operandsOf(argv: readonly string[]): readonly string[] {
  const separator = argv.indexOf('--')
  return separator < 0 ? [] : argv.slice(separator + 1)
}

/** Whether all that is searched lies in places of the host's own, as spilled output does, wherever the session is. */
export function searchesLocalPlaces(presence: Presence, argv: readonly string[]): boolean {
  const operands = operandsOf(argv)
  return operands.length > 0 && operands.every((path) => isAbsolute(path) && presence.isLocalPlace(path))
}

/**
 * A search of this computer does not find what is on a machine, whose folders are empty here.
 * @throws StartError when an operand is on a machine.
 */
export function requireLocalOperands(presence: Presence, argv: readonly string[]): void {
  for (const operand of operandsOf(argv)) {
    const place = presence.mounts.placeOf(operand)
    if (place === undefined) continue
    throw new StartError(
      `"${operand}" is on the machine and this session's folder is not: nothing was searched. ` +
        'Search it in a session in a folder there, or by a command with that folder as its working folder',
      'refused',
      place.machine,
    )
  }
}

/** @throws StartError when an operand is on another machine. */
export function translateSearch(
  presence: Presence,
  session: MachineSession,
  folder: RemotePath,
  argv: readonly string[],
): string[] {
  const separator = argv.indexOf('--')
  const options = separator < 0 ? argv.slice(1) : argv.slice(1, separator)
  const translated = operandsOf(argv)
    .map((operand) => operandFor(presence, session.machine, folder, operand))
    .filter((operand) => operand !== '')
  return ['rg', ...options, ...(translated.length === 0 ? [] : ['--', ...translated])]
}

/**
 * Paths in rg's answers are spelled like its operands, and the host makes those below the session's
 * folder relative by its own local spelling. So an operand below the folder is given relative to it.
 */
function operandFor(presence: Presence, machine: string, folder: RemotePath, operand: string): string {
  if (!isAbsolute(operand) && !operand.startsWith('/')) return operand
  const place = presence.mounts.placeOf(operand)
  if (place !== undefined && place.machine !== machine) {
    throw new StartError(`"${operand}" is a folder of another machine, ${place.machine}`, 'refused', machine)
  }
  const path = place?.path ?? joinRemote(folder, operand)
  if (path === folder) return ''
  const prefix = folder === '/' ? '/' : `${folder}/`
  return path.startsWith(prefix) ? path.slice(prefix.length) : path
}
