/**
 * The host's rule that a file is read before it is changed, for our own tools: what they see is recorded,
 * and what they change is guarded, under the same identity as the built-in tools use.
 */
import type { Context } from '@deepseek-ai/cordis'
import { FsTargetKey, FsVersion, type FsTarget } from '@deepseek-ai/dsh-fs'
import type { ToolRunContext } from '@deepseek-ai/dsh-tools'
import { placeKey, type Place } from '../places/place.ts'
import type { WriteGuard } from '../remote/files/saving/change.ts'
import { shownPlace } from './target.ts'

/** `place` must be canonical: one file has one key. */
function targetOf(place: Place): FsTarget {
  return { targetKey: FsTargetKey(placeKey(place)), displayPath: shownPlace(place) }
}

export function observed(
  ctx: Context,
  place: Place,
  version: string | undefined,
  exec: ToolRunContext,
): void {
  const observation =
    version === undefined
      ? { kind: 'absent' as const }
      : { kind: 'present' as const, version: FsVersion(version) }
  ctx.emit('fs/observed', targetOf(place), observation, exec)
}

export async function writeGuard(ctx: Context, place: Place, exec: ToolRunContext): Promise<WriteGuard> {
  const intent = await ctx.waterfall('fs/write-intent', targetOf(place), exec, () => undefined)
  if (intent === undefined) return { kind: 'none' }
  return intent.kind === 'createIfAbsent' ? { kind: 'absent' } : { kind: 'version', version: intent.version }
}

/** @returns the version that an edit must find, when the host's policy has one. */
export async function editGuard(
  ctx: Context,
  place: Place,
  exec: ToolRunContext,
): Promise<string | undefined> {
  const intent = await ctx.waterfall('fs/edit-intent', targetOf(place), exec, () => undefined)
  return intent?.version
}
