/**
 * Packs the package into a tarball in `dist/`, with a version of its own each time: a package manager
 * takes a tarball of a known version for the one it has already unpacked. It is built and packed in a
 * staging folder, so the checkout stays as it is and several packings do not disturb each other.
 */
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { build } from './build.ts'
import { bundleDependencies } from './bundled-dependencies.ts'
import { shipInstaller } from './install/ship.ts'
import { program, readJson, ROOT, toolEnvironment } from './project/checkout.ts'
import { run } from './project/children.ts'

/** What only the checkout needs and a user's profile must not see. */
const CHECKOUT_ONLY = ['scripts', 'devDependencies', 'packageManager'] as const

/** The folder of package.json's `files` that is made by the build. */
const BUILT = 'lib'

/** Files that belong into the tarball beside those that package.json lists. */
const PAPERS = ['README.md', 'LICENSE', 'CHANGELOG.md']

/** @returns the tarball's absolute path. */
export async function pack(): Promise<string> {
  const manifest = readJson(join(ROOT, 'package.json')) as Manifest
  const staging = await mkdtemp(join(tmpdir(), 'presence-pack-'))
  try {
    await build(join(staging, BUILT))
    for (const file of [...manifest.files, ...PAPERS]) {
      if (file === BUILT || !existsSync(join(ROOT, file))) continue
      await cp(join(ROOT, file), join(staging, file), { recursive: true })
    }
    const bundledDependencies = await bundleDependencies(ROOT, staging)
    const staged = { ...manifest, version: developmentVersion(manifest.version), bundledDependencies }
    for (const field of CHECKOUT_ONLY) delete staged[field]
    await writeFile(join(staging, 'package.json'), `${JSON.stringify(staged, null, 2)}\n`)
    return await tarballOf(staging)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

interface Manifest {
  version: string
  files: string[]
  scripts?: unknown
  devDependencies?: unknown
  packageManager?: unknown
}

/** `0.1.0` becomes `0.1.0-dev.20250131T235959123Z`: later builds sort after earlier ones. */
function developmentVersion(release: string): string {
  return `${release}-dev.${new Date().toISOString().replace(/[-:.]/g, '')}`
}

async function tarballOf(staging: string): Promise<string> {
  // Dependencies are bundled only from a flat node_modules, which the staging folder has.
  const flat = '--config.node-linker=hoisted'
  const packed = await run([...program('pnpm'), 'pack', flat, '--json', '--pack-destination', staging], {
    cwd: staging,
    env: toolEnvironment(),
  })
  if (packed.code !== 0) throw new Error(`pnpm pack failed:\n${packed.stdout}${packed.stderr}`)
  const { filename } = JSON.parse(packed.stdout) as { filename: string }
  const tarball = join(ROOT, 'dist', basename(filename))
  await mkdir(join(ROOT, 'dist'), { recursive: true })
  await cp(join(staging, basename(filename)), `${tarball}.part`)
  await rename(`${tarball}.part`, tarball)
  return tarball
}

if (import.meta.main) {
  const tarball = await pack()
  await shipInstaller(dirname(tarball))
  console.log(tarball)
}
