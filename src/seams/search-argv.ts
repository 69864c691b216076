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

/** @throws StartError when an operand is on another machine. */
export function translateSearch(
  presence: Presence,
  session: MachineSession,
  folder: RemotePath,
  argv: readonly string[],
): string[] {
  const separator = argv.indexOf('--')
  const options = separator < 0 ? argv.slice(1) : argv.slice(1, separator)
  const operands = separator < 0 ? [] : argv.slice(separator + 1)
  const translated = operands
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
