/** What listens for changes on a rig machine now. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { MARK } from '../../../scripts/machine/machine.ts'
import { processesWith } from '../../../scripts/machine/processes.ts'
import type { Rig } from '../../support/rig.ts'

/** Command lines of living processes that belong to a listener: `inotifywait`, its shells, and its watcher. */
export async function listenersFor({ server }: Pick<Rig, 'server'>): Promise<string[]> {
  const pids = await processesWith(MARK, dirname(server.home))
  return pids.flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
      return /inotifywait|group\(\) \{ kill/.test(line) ? [line] : []
    } catch (_endedMeanwhile) {
      return []
    }
  })
}
