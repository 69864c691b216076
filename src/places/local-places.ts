/**
 * The host's own local places: absolute paths that stay local even in a remote session, because the
 * harness made them (its home, spilled output, skills). Everything else absolute belongs to the machine.
 */
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { realpathSync } from 'node:fs'
import { systemCode } from '../base/failure.ts'

export interface LocalPlaces {
  readonly dshHome: string
  readonly mounts: string
  /** Further folders, e.g. of the user's skills. */
  readonly folders: readonly string[]
  readonly temporary: string
}

export function localPlaces(
  dshHome: string,
  mounts: string,
  env: NodeJS.ProcessEnv,
  home: string,
): LocalPlaces {
  const agentsHome = env['DSH_AGENTS_HOME']
  const bundled = env['DSH_BUNDLED_SKILL_DIR']
  return {
    dshHome,
    mounts,
    folders: [
      join(
        agentsHome === undefined || agentsHome === '' ? join(home, '.agents') : resolve(agentsHome),
        'skills',
      ),
      ...(bundled === undefined || bundled === '' ? [] : [resolve(bundled)]),
    ],
    temporary: tmpdir(),
  }
}

/** Names under the temporary folder that the host gives its spilled output. */
const SPILL = /^dsh-(spill|subprocess)-/

export function isLocalPlace(path: string, places: LocalPlaces): boolean {
  const normal = resolve(path)
  const inside = (folder: string): boolean => spellingsOf(folder).some((root) => isBelow(root, normal))
  if (inside(places.mounts)) return false
  if (inside(places.dshHome) || places.folders.some(inside)) return true
  return spellingsOf(places.temporary).some((root) => {
    if (!isBelow(root, normal)) return false
    return SPILL.test(normal.slice(root.length).split(sep)[1] ?? '')
  })
}

function isBelow(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
}

/** A folder as configured and as the system resolves it: the host uses both. */
function spellingsOf(folder: string): string[] {
  try {
    return [...new Set([folder, realpathSync(folder)])]
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return [folder]
  }
}
