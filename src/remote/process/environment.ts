/** Variables for a command on a machine, as the launch script takes them. */
import type { MachineSession } from '../session.ts'
import { StartError } from './errors.ts'

const NAME_OF_VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * `NAME=value` words: those of the configuration (SetEnv), and over them those that were asked for. They go
 * into the command, since servers take few by request and some none without saying so.
 * @throws StartError for a name that was asked for and that no shell can export, or a NUL byte.
 */
export function variablesOf(asked: Readonly<Record<string, string>>, session: MachineSession): string[] {
  const configured = Object.entries(session.link.facts.settings.setEnv).filter(
    ([name, value]) => NAME_OF_VARIABLE.test(name) && !value.includes('\0'),
  )
  return Object.entries({ ...Object.fromEntries(configured), ...asked }).map(([name, value]) => {
    if (!NAME_OF_VARIABLE.test(name))
      throw new StartError(`"${name}" cannot name a variable`, 'refused', session.machine)
    if (value.includes('\0'))
      throw new StartError(`the variable ${name} holds a NUL byte`, 'refused', session.machine)
    return `${name}=${value}`
  })
}
