/** Live processes of this computer, which every test machine is, by what their command lines hold. */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { MARK, type DemoMachine } from '../../scripts/machine/machine.ts'
import { processesWith } from '../../scripts/machine/processes.ts'

/** Command lines of live processes that hold a text. */
export function living(text: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(commandLineOf).filter((line) => line?.includes(text)) as string[]
}

/** Command lines of live processes that one machine has started. */
export async function livingOn(server: Pick<DemoMachine, 'home'>, what: RegExp): Promise<string[]> {
  const pids = await processesWith(MARK, dirname(server.home))
  return pids.map(commandLineOf).filter((line) => line !== undefined && what.test(line)) as string[]
}

/** @returns undefined when it has ended. */
function commandLineOf(pid: string | number): string | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
    return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ') ? undefined : line
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ESRCH'].includes(String(error.code))) {
      return undefined
    }
    throw error
  }
}
