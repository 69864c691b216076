/**
 * A guard for sessions whose folder is on a machine while the host's own services are not ours (tools-only
 * mode, a row switched off): the host's tools would act on the local computer and look as if they had
 * acted on the machine. Nothing is better than that.
 */
import { SEAMS, type Presence } from '../core/presence.ts'
import { placeTitle } from '../places/place.ts'

/** The host's tools that touch files or run programs. */
const HOST_TOOLS: ReadonlySet<string> = new Set([
  'bash',
  'pwsh',
  'read',
  'read_image',
  'write',
  'edit',
  'glob',
  'grep',
  'str_replace_editor',
  'run_code',
])

interface Call {
  readonly name: string
  readonly agent?: { readonly session: { readonly header: { readonly cwd?: string } } }
}

/** @returns why the call is denied, or undefined. */
export function wrongComputer(presence: Presence, call: Call): string | undefined {
  if (!HOST_TOOLS.has(call.name)) return undefined
  const missing = SEAMS.filter((seam) => !presence.seams.has(seam))
  const cwd = call.agent?.session.header.cwd
  if (missing.length === 0 || cwd === undefined) return undefined
  const location = presence.mounts.locate(cwd)
  if (location.world === 'local') return undefined
  const folder = location.world === 'remote' ? placeTitle(location.place) : `on ${location.machine}`
  return `this session's folder is ${folder}, but Presence does not serve ${missing.join(', ')} in this profile, so "${call.name}" would act on the local computer. Use the presence_* tools`
}
