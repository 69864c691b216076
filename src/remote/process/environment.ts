/** Variables for a command on a machine, as the launch script takes them. */
import { StartError } from './errors.ts'

const NAME_OF_VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/** `NAME=value` words. @throws StartError for a name that no shell can export, or a NUL byte. */
export function variablesOf(env: Readonly<Record<string, string>>, machine: string): string[] {
  return Object.entries(env).map(([name, value]) => {
    if (!NAME_OF_VARIABLE.test(name))
      throw new StartError(`"${name}" cannot name a variable`, 'refused', machine)
    if (value.includes('\0'))
      throw new StartError(`the variable ${name} holds a NUL byte`, 'refused', machine)
    return `${name}=${value}`
  })
}
