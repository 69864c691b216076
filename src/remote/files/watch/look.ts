/** One look at watched paths: what they are, and what is in those folders that are due to be looked into. */
import type { MachineSession } from '../../session.ts'
import { contentsOf, type Contents } from './contents.ts'
import { observe } from './observe.ts'
import type { Look, WatchedPath } from './watched-path.ts'
import type { RemotePath } from '../../../base/remote-path.ts'

/** Paths of which it is known that something happened there; `all` when that is not known. */
export type Heard = ReadonlySet<RemotePath> | 'all'

/**
 * Look at paths and tell of what is different.
 * @param heard - folders that are looked into whether they are due or not.
 * @returns those of which something was told. @throws as `observe`.
 */
export async function lookAt(
  session: MachineSession,
  paths: readonly WatchedPath[],
  heard: Heard,
  signal: AbortSignal,
): Promise<WatchedPath[]> {
  const askedAt = performance.now()
  const observations = await observe(
    session,
    paths.map(({ path }) => path),
    signal,
  )
  const seen = paths.flatMap((watched, index) => {
    const now = observations[index]
    return now === undefined ? [] : [{ watched, now }]
  })
  const due = seen.filter(({ watched, now }) =>
    watched.wantsContents(now, heard === 'all' || heard.has(watched.path)),
  )
  const inside = await contentsOf(
    session,
    due.map(({ watched }) => watched.path),
    signal,
  )
  const contents = new Map<WatchedPath, Contents>()
  for (const [index, { watched }] of due.entries()) {
    const found = inside[index]
    if (found !== undefined) contents.set(watched, found)
  }
  return seen
    .filter(({ watched, now }) => watched.take({ askedAt, now, contents: contents.get(watched) }))
    .map(({ watched }) => watched)
}

/** The look that a watch begins with. @throws as `observe`. */
export async function firstLook(
  session: MachineSession,
  path: RemotePath,
  signal: AbortSignal,
): Promise<Look> {
  const askedAt = performance.now()
  const [now = { kind: 'absent' } as const] = await observe(session, [path], signal)
  const folder = now.kind === 'there' && now.folder
  const [contents] = folder ? await contentsOf(session, [path], signal) : []
  return { askedAt, now, contents }
}
