/** Live processes of this computer, which every test machine is, by what their command lines hold. */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { MARK, type DemoMachine } from '../../scripts/machine/machine.ts'
import { processesWith } from '../../scripts/machine/processes.ts'

/** Command lines of live processes, each word ended by NUL. */
export function commandLines(): string[] {
  return linesOf(readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
}

/** Command lines of live processes that hold a text. */
export function living(text: string): string[] {
  return commandLines()
    .map(spaced)
    .filter((line) => line.includes(text))
}

/** Command lines of live processes that one machine has started. */
export async function livingOn(server: Pick<DemoMachine, 'home'>, what: RegExp): Promise<string[]> {
  const pids = await processesWith(MARK, dirname(server.home))
  return linesOf(pids)
    .map(spaced)
    .filter((line) => what.test(line))
}

function spaced(line: string): string {
  return line.replaceAll('\0', ' ')
}

function linesOf(pids: readonly (string | number)[]): string[] {
  return pids.flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ') ? [] : [line]
    } catch (error) {
      // It has ended meanwhile.
      if (error instanceof Error && 'code' in error && ['ENOENT', 'ESRCH'].includes(String(error.code)))
        return []
      throw error
    }
  })
}
