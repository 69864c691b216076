/**
 * Telling of changes by asking again and again, for servers that offer nothing better: slower while
 * nothing changes, and silent about a machine that cannot be reached.
 */
import { messageOf } from '../../base/failure.ts'
import { pause, callerLeaves } from '../../base/race.ts'
import { CancelledError } from '../../base/failure.ts'
import type { Shown } from './read.ts'
import type { RemoteFiles } from './remote-files.ts'

const SHORTEST_MS = 1000
const LONGEST_MS = 15_000

/**
 * Watch a file, or a folder and the names in it.
 * @returns the end of the watch, which also ends with `signal`.
 */
export async function watchPath(
  files: RemoteFiles,
  path: Shown,
  changed: (error?: Error) => void,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const stop = new AbortController()
  const ended = AbortSignal.any([signal, stop.signal])
  let seen = await look(files, path, ended)
  const loop = async (): Promise<void> => {
    for (let wait = SHORTEST_MS; ; wait = Math.min(wait * 1.5, LONGEST_MS)) {
      await pause(wait, callerLeaves(ended, 'watch'))
      let now: string
      try {
        now = await look(files, path, ended)
      } catch (error) {
        if (error instanceof CancelledError) throw error
        // Unreachable is not a change; the next look may succeed.
        continue
      }
      if (now === seen) continue
      seen = now
      wait = SHORTEST_MS
      changed()
    }
  }
  const running = loop().catch((error: unknown) => {
    if (!(error instanceof CancelledError))
      changed(error instanceof Error ? error : new Error(messageOf(error)))
  })
  return async () => {
    stop.abort()
    await running
  }
}

/** A text that differs when the file, or the folder's list of names, has changed; deletion is a change. */
async function look(files: RemoteFiles, path: Shown, signal: AbortSignal): Promise<string> {
  const options = { signal, hurry: 'when-due' as const }
  const stat = await files.stat(path, options)
  if (stat === undefined) return 'absent'
  if (stat.type !== 'directory') return stat.version
  const entries = await files.list(path, options)
  return `${stat.version}\0${entries.map((entry) => `${entry.name}\0${entry.type}\0${entry.size}`).join('\0')}`
}
