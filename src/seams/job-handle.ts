/**
 * A background job as the host's process handle: which spawn is one, and how far the host has read it. The host
 * tells neither; a background command of its shell tool is known by its shape, and what is read of its output is
 * seen where it is read.
 */
import type {
  SubprocessHandle,
  SubprocessOutputReader,
  SubprocessSpawnSpec,
} from '@deepseek-ai/dsh-subprocess'
import { currentSession } from '../core/current-session.ts'
import type { HeldJob, JobOrigin } from '../core/jobs.ts'
import { readConfined } from './confined-argv.ts'
import { RemoteHandle } from './remote-handle.ts'
import { isSearch } from './search-argv.ts'

/** The shell tool's name. */
const SHELL_TOOL = 'bash'

/**
 * What has to be known of a background command to find it again; undefined for any other process. A command in
 * the foreground always comes with a signal that ends it.
 */
export function jobOriginOf(spec: SubprocessSpawnSpec): JobOrigin | undefined {
  const session = currentSession()
  const { stdin, stdout, stderr } = spec.stdio
  if (session?.tool !== SHELL_TOOL || session.id === undefined || spec.signal !== undefined) return undefined
  if (stdin !== 'ignore' || typeof stdout !== 'object' || typeof stderr !== 'object') return undefined
  if (isSearch(spec.argv)) return undefined
  const confined = readConfined(spec.argv)
  const argv = confined?.argv ?? spec.argv
  return { session: session.id, command: argv.at(-1) ?? '', cwd: spec.cwd, mode: confined?.policy.mode }
}

export function jobHandle(held: HeldJob, spec: SubprocessSpawnSpec): SubprocessHandle {
  const handle = new RemoteHandle(held.job, spec)
  const { stdout, stderr } = handle.collected
  if (stdout === undefined || stderr === undefined) return handle
  const read = { out: 0, err: 0 }
  let ended = false
  let reading = false
  let all = false
  // One that failed is not collected: what is left of it is still to be put right.
  void held.job.done.then(
    () => (ended = true),
    (_heardByWhoAwaitsIt: unknown) => undefined,
  )
  // The host reads both streams together, standard output first; standard error alone it only looks at.
  const note = (): void => {
    reading = false
    held.reads(read.out, read.err)
    if (all) held.collect()
  }
  const watched = (reader: SubprocessOutputReader, seen: (next: number) => void): SubprocessOutputReader => ({
    readFrom: (offset) => {
      const answer = reader.readFrom(offset)
      seen(answer.nextOffset)
      return answer
    },
  })
  return Object.assign(handle, {
    collected: {
      stdout: watched(stdout, (next) => {
        read.out = next
        if (!reading) queueMicrotask(note)
        reading = true
        all = ended
      }),
      stderr: watched(stderr, (next) => {
        if (reading) read.err = next
      }),
    },
  })
}
