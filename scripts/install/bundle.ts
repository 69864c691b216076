/**
 * The packed bundle: reading and checking it, and the form in which it goes into a profile. The mode is
 * a property of the package that is installed, so the user's own patches need not know of it.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { codeOf, InstallError } from './failure.ts'
import type { Mode } from './options.ts'
import { PACKAGE } from './profile.ts'
import { filesOf, TarError, withContent } from './tar.ts'

export interface Bundle {
  readonly version: string
  /** Relative to the package's folder, with `/`. */
  readonly files: ReadonlyMap<string, Buffer>
  /** The unpacked archive. */
  readonly archive: Buffer
}

/** The layer of patches that a mode stands for; the files are the package's own. */
const PATCHES: Readonly<Record<Mode, string>> = {
  fs: './cordis.patch.yml',
  tools: './cordis.tools.patch.yml',
}

const MANIFEST = 'package/package.json'
const TARBALL = new RegExp(`^${PACKAGE}-(\\d.*)\\.tgz$`)

interface PackedManifest {
  readonly name?: string
  readonly version?: string
  readonly exports?: Readonly<Record<string, string>>
  readonly dsh?: { readonly bundle?: { readonly patch?: string } }
}

/** @throws InstallError `no-tarball`, `bad-tarball`. */
export async function readBundle(file: string): Promise<Bundle> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') throw new InstallError('no-tarball', `There is no ${file}.`, { cause })
    const what = cause instanceof Error ? cause.message : String(cause)
    throw new InstallError('bad-tarball', `${file} cannot be read as a tarball of ${PACKAGE}: ${what}.`, {
      cause,
    })
  })
  try {
    return checked(gunzipSync(bytes))
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause)
    throw new InstallError(
      'bad-tarball',
      `${file} is not a whole tarball of ${PACKAGE}: ${what}. Nothing was changed; get or pack it anew.`,
      { cause },
    )
  }
}

/** @throws TarError, SyntaxError. */
function checked(archive: Buffer): Bundle {
  const files = new Map(filesOf(archive).map((file) => [file.path.replace(/^package\//, ''), file.content]))
  const manifest = JSON.parse(files.get('package.json')?.toString('utf8') ?? '{}') as PackedManifest
  if (manifest.name !== PACKAGE) throw new TarError(`it holds "${manifest.name ?? 'no package'}"`)
  if (manifest.version === undefined) throw new TarError('its package.json has no version')
  const promised = [...Object.values(manifest.exports ?? {}), manifest.dsh?.bundle?.patch ?? PATCHES.fs]
  const missing = promised.filter((path) => !files.has(posix.normalize(path)))
  if (missing.length > 0) throw new TarError(`it lacks ${missing.join(', ')}`)
  return { version: manifest.version, files, archive }
}

/** The bundle as it is installed in a mode. @throws InstallError `bad-tarball` when it has no such mode. */
export function inMode(bundle: Bundle, mode: Mode): Bundle {
  if (!bundle.files.has(posix.normalize(PATCHES[mode]))) {
    throw new InstallError('bad-tarball', `Presence ${bundle.version} has no mode "${mode}".`)
  }
  return withManifest(bundle, (manifest) => ({
    ...manifest,
    dsh: { ...manifest.dsh, bundle: { ...manifest.dsh?.bundle, patch: PATCHES[mode] } },
  }))
}

/** A copy of the bundle whose package.json says something else. */
export function withManifest(bundle: Bundle, change: (manifest: PackedManifest) => PackedManifest): Bundle {
  const text = bundle.files.get('package.json')?.toString('utf8') ?? '{}'
  const manifest = change(JSON.parse(text) as PackedManifest)
  const content = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  return checked(withContent(bundle.archive, MANIFEST, content))
}

export function modeOf(manifest: PackedManifest): Mode {
  return manifest.dsh?.bundle?.patch === PATCHES.tools ? 'tools' : 'fs'
}

export function compressed(bundle: Bundle): Buffer {
  return gzipSync(bundle.archive)
}

/**
 * The name under which a bundle is kept in the profile. It changes with the content: a package manager
 * takes a tarball of a known name for the one it has already unpacked.
 */
export function storedName(bundle: Bundle, mode: Mode): string {
  const digest = createHash('sha256').update(bundle.archive).digest('hex').slice(0, 8)
  return `${PACKAGE}-${bundle.version}-${mode}-${digest}.tgz`
}

/** The tarball of the highest version in a folder; undefined when it holds none. */
export async function newestIn(folder: string): Promise<string | undefined> {
  const names = (await readdir(folder)).filter((name) => TARBALL.test(name))
  const [newest] = names.sort((a, b) => compareVersions(versionIn(b), versionIn(a)))
  return newest === undefined ? undefined : join(folder, newest)
}

function versionIn(name: string): string {
  return TARBALL.exec(name)?.[1] ?? ''
}

/** By release first; a release is higher than what came before it (`0.1.0` than `0.1.0-dev.1`). */
function compareVersions(a: string, b: string): number {
  const [releaseA = '', ...beforeA] = a.split('-')
  const [releaseB = '', ...beforeB] = b.split('-')
  const numeric = { numeric: true } as const
  const byRelease = releaseA.localeCompare(releaseB, 'en', numeric)
  if (byRelease !== 0) return byRelease
  if (beforeA.length === 0 || beforeB.length === 0) return beforeB.length - beforeA.length
  return beforeA.join('-').localeCompare(beforeB.join('-'), 'en', numeric)
}
