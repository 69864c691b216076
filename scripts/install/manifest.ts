/**
 * The profile's package.json as far as Presence stands in it: as a dependency, and as a layer in
 * `dsh.profile.bundles`. The layer is the switch: without it a profile boots as if we were not there.
 */
import { InstallError } from './failure.ts'
import { PACKAGE } from './profile.ts'

export interface Manifest {
  /** As it is on the disk. */
  readonly text: string
  readonly value: ManifestValue
}

interface ManifestValue {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly dsh?: { readonly profile?: { readonly bundles?: readonly string[] } }
}

/** @throws InstallError `bad-manifest`. */
export function parseManifest(text: string, file: string): Manifest {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new TypeError('it must hold a JSON object')
    }
    return { text, value: value as ManifestValue }
  } catch (cause) {
    throw new InstallError('bad-manifest', `${file} cannot be read: ${(cause as Error).message}.`, { cause })
  }
}

export function bundlesOf(manifest: Manifest): readonly string[] {
  return manifest.value.dsh?.profile?.bundles ?? []
}

/** What the package manager was told to install as Presence; undefined: nothing. */
export function dependencyOf(manifest: Manifest): string | undefined {
  return manifest.value.dependencies?.[PACKAGE]
}

/** The text with Presence switched off; `dependency: false` forgets the package as well. */
export function switchedOff(manifest: Manifest, keep: { readonly dependency: boolean }): string {
  const { [PACKAGE]: spec, ...others } = manifest.value.dependencies ?? {}
  const bundles = bundlesOf(manifest).filter((name) => name !== PACKAGE)
  const value = withBundles(manifest.value, bundles)
  if (keep.dependency || spec === undefined) return written(value, manifest.text)
  return written({ ...value, dependencies: others }, manifest.text)
}

/** The text with Presence switched on: where it stood among the layers before, otherwise last. */
export function switchedOn(manifest: Manifest, before: readonly string[]): string {
  const bundles = bundlesOf(manifest).filter((name) => name !== PACKAGE)
  const place = before.indexOf(PACKAGE)
  bundles.splice(place < 0 ? bundles.length : place, 0, PACKAGE)
  return written(withBundles(manifest.value, bundles), manifest.text)
}

function withBundles(value: ManifestValue, bundles: readonly string[]): ManifestValue {
  return { ...value, dsh: { ...value.dsh, profile: { ...value.dsh?.profile, bundles } } }
}

/** In the style of what was there. */
function written(value: ManifestValue, like: string): string {
  const indent = /^([ \t]+)\S/m.exec(like)?.[1] ?? 2
  return JSON.stringify(value, null, indent) + (like.endsWith('\n') ? '\n' : '')
}
