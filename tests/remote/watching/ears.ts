/** Somebody who watches: what was there whenever a change was told, and the errors that were told. */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../../../src/base/failure.ts'
import type { RemoteFiles } from '../../../src/remote/files/remote-files.ts'
import { file } from '../../ssh/life/line.ts'

export interface Ears {
  /** What was there at each change that was told, as `stateOf` says it. */
  readonly seen: readonly string[]
  readonly errors: readonly Error[]
  /** How often something was told. */
  readonly told: number
  /** Wait until a change was told while this was there. */
  hears(state: string): Promise<void>
  end(): Promise<void>
}

/** The server is on this computer: the same path, seen without SSH. */
export function stateOf(path: string): string {
  try {
    if (!statSync(path).isDirectory()) return readFileSync(path, 'utf8')
    const entries = readdirSync(path).toSorted()
    return entries
      .map((name) => `${name}=${statSync(join(path, name)).isDirectory() ? '/' : stateOf(join(path, name))}`)
      .join(' ')
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    return 'absent'
  }
}

export async function listen(
  files: RemoteFiles,
  path: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<Ears> {
  const seen: string[] = []
  const errors: Error[] = []
  const end = await files.watch(
    file(path),
    (error) => {
      if (error === undefined) seen.push(stateOf(path))
      else errors.push(error)
    },
    signal,
  )
  return {
    seen,
    errors,
    get told() {
      return seen.length + errors.length
    },
    hears: (state) => until(() => seen.includes(state)),
    end,
  }
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}
