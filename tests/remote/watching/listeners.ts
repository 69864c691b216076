/** What listens for changes on a rig machine now. */
import { livingOn } from '../../support/living.ts'
import type { Rig } from '../../support/rig.ts'

/** Command lines of living processes that belong to a listener: `inotifywait`, its shells, and its watcher. */
export function listenersFor({ server }: Pick<Rig, 'server'>): Promise<string[]> {
  return livingOn(server, /inotifywait|group\(\) \{ kill/)
}
