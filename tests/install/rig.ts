/**
 * What tests of the installer share: a folder with the tarball and the program as a user gets them, an
 * older bundle, homes of the real DSH that are prepared once and copied, and looking at what is there.
 * No registry can be reached from here: everything must come out of the tarball.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { inject } from 'vitest'
import { makeDshHome, type DshHome } from '../../scripts/host/dsh-home.ts'
import { KEPT_FILES } from '../../scripts/install/backup.ts'
import { compressed, readBundle, withManifest } from '../../scripts/install/bundle.ts'
import { shipInstaller } from '../../scripts/install/ship.ts'
import { program } from '../../scripts/project/checkout.ts'
import { run, type Outcome } from '../../scripts/project/children.ts'

/** In memory where that can be: the installer forces every step to the disk. */
const BASE = existsSync('/dev/shm') ? '/dev/shm' : '/var/tmp'

export const OLD_VERSION = '0.0.9'

/** The user's own patches: comments, a flow map and a change of a row, in no particular style. */
export const OWN_PATCHES = `# mine, do not touch
-   id:  session-title
    config: { fallbackMaxWords:  7, fallbackMaxBytes: 40,
              maxTitleBytes: 81 }   # short ones
`

export interface InstallRig {
  readonly folder: string
  /** Holds only the tarball, the program and the two scripts. */
  readonly shipped: string
  readonly tarball: string
  readonly version: string
  /** A bundle of an older version. */
  readonly oldTarball: string
  readonly userHome: string
  /** A copy of the home that was prepared under this name. */
  home(name: string): Promise<InstallHome>
  /** What `tree` gives for every such copy as long as nothing has changed it. */
  treeOf(name: string): Record<string, string>
  /**
   * Copies of a home, each as it stands at one point of a run of the installer, under the names that are given back.
   * @param args - of the run, which goes on to its end.
   */
  snapshots(from: string, points: readonly string[], args: readonly string[]): Promise<Record<string, string>>
  /** Prepare a home to copy; `from`: out of another one. */
  prepare(name: string, from: string | undefined, make: (home: InstallHome) => Promise<void>): Promise<void>
  remove(): void
}

export interface InstallHome extends DshHome {
  readonly profile: string
  readonly profileFolder: string
  readonly patchFile: string
  /** Run the installer in this home and profile. */
  install(args?: readonly string[], options?: InstallCall): Promise<Outcome>
  /** What DSH composes. @throws when it cannot, or when Presence is in it by halves. */
  composition(): Promise<Composition>
  installedVersion(): string | undefined
  /** Everything in the profile's folder, byte for byte. */
  tree(): Record<string, string>
  /** The same without what only the installer and pnpm read: alike means that DSH composes alike. */
  forDsh(): Record<string, string>
}

export interface Composition {
  readonly presence: 'fs' | 'tools' | 'none'
  /** Names of the rows that are switched on. */
  readonly rows: readonly string[]
}

export interface InstallCall {
  /** The point at which the installer kills itself. */
  readonly killAt?: string
  readonly variables?: Readonly<Record<string, string>>
  /** Words before the command. */
  readonly before?: readonly string[]
}

export interface RigOptions {
  readonly profile: 'web' | 'headless'
  /** Call the program itself: what the script before it does is tested elsewhere. */
  readonly withoutScript?: boolean
  readonly modelUrl?: string
}

export async function startInstallRig(options: RigOptions): Promise<InstallRig> {
  const folder = realpathSync(mkdtempSync(join(BASE, 'presence-installer-')))
  chmodSync(folder, 0o755)
  const [shipped, userHome, homes] = ['shipped', 'user', 'homes'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const made of [userHome, homes]) mkdirSync(made)
  writeFileSync(join(userHome, '.npmrc'), 'registry=http://127.0.0.1:9/\nfetch-retries=0\n')
  await shipInstaller(shipped)
  const tarball = join(shipped, basename(inject('tarball')))
  copyFileSync(inject('tarball'), tarball)
  const bundle = await readBundle(tarball)
  const oldTarball = join(folder, `dsh-presence-${OLD_VERSION}.tgz`)
  writeFileSync(
    oldTarball,
    compressed(withManifest(bundle, (manifest) => ({ ...manifest, version: OLD_VERSION }))),
  )

  const installer =
    options.withoutScript === true
      ? [process.execPath, join(shipped, 'install-presence.mjs')]
      : ['sh', join(shipped, 'install-presence.sh')]
  const homeIn = async (home: string): Promise<InstallHome> => {
    const dsh = await makeDshHome({
      folder: home,
      userHome,
      model: { url: options.modelUrl ?? 'http://127.0.0.1:9', key: 'scripted' },
    })
    return installHome(dsh, options.profile, installer)
  }
  let copies = 0
  const rig: InstallRig = {
    folder,
    shipped,
    tarball,
    version: bundle.version,
    oldTarball,
    userHome,
    home: async (name) => {
      const copy = join(homes, `${name}-${copies++}`)
      await done(run(['cp', '-a', join(homes, name), copy]))
      return homeIn(copy)
    },
    snapshots: async (from, points, args) => {
      const home = await rig.home(from)
      const pauses = join(folder, `pauses-${copies++}`)
      mkdirSync(pauses)
      const taken: Record<string, string> = {}
      let over = false
      const running = home
        .install(args, { variables: { PRESENCE_INSTALL_PAUSES: pauses } })
        .finally(() => (over = true))
      while (!over) {
        for (const point of readdirSync(pauses)) {
          if (points.includes(point) && taken[point] === undefined) {
            const name = `${from}-${copies++}`
            await done(run(['cp', '-a', home.folder, join(homes, name)]))
            taken[point] = name
          }
          rmSync(join(pauses, point))
        }
        await new Promise((resume) => setTimeout(resume, 5))
      }
      await running
      return taken
    },
    treeOf: (name) => treeOf(join(homes, name, 'profiles', options.profile)),
    prepare: async (name, from, make) => {
      if (from !== undefined) await done(run(['cp', '-a', join(homes, from), join(homes, name)]))
      const home = await homeIn(join(homes, name))
      await make(home)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
  await rig.prepare('fresh', undefined, async (home) => {
    await home.composition()
    writeFileSync(home.patchFile, OWN_PATCHES)
    await home.addPlugin(options.profile, await otherPlugin(folder))
  })
  return rig
}

function installHome(dsh: DshHome, profile: string, installer: readonly string[]): InstallHome {
  const profileFolder = join(dsh.folder, 'profiles', profile)
  return {
    ...dsh,
    profile,
    profileFolder,
    patchFile: join(profileFolder, 'cordis.patch.yml'),
    install: (args = [], call = {}) =>
      run([...(call.before ?? []), ...installer, '--dsh-home', dsh.folder, '--profile', profile, ...args], {
        cwd: dsh.folder,
        env: {
          ...dsh.env,
          ...(call.killAt === undefined ? {} : { PRESENCE_INSTALL_KILL_AT: call.killAt }),
          ...call.variables,
        },
        timeoutMs: 120_000,
      }),
    composition: async () => {
      const { stdout } = await done(
        run([...dsh.dsh, '--profile', profile, '--dump-config'], { env: dsh.env, cwd: dsh.folder }),
      )
      const rows = stdout
        .split(/^- /m)
        .slice(1)
        .filter((row) => !/^\s*disabled: true$/m.test(row))
        .flatMap((row) => /^\s*id: ['"]?([\w-]+)/m.exec(row)?.[1] ?? [])
      return { rows, presence: presenceIn(new Set(rows)) }
    },
    installedVersion: () => {
      const file = join(profileFolder, 'node_modules/dsh-presence/package.json')
      if (!existsSync(file)) return undefined
      return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    },
    tree: () => treeOf(profileFolder),
    forDsh: () =>
      Object.fromEntries(
        Object.entries(treeOf(profileFolder)).filter(
          ([path]) => !path.startsWith('.presence') && !PNPM_RECORDS.has(path),
        ),
      ),
  }
}

function presenceIn(rows: ReadonlySet<string>): Composition['presence'] {
  const seams = ['presence-fs', 'presence-subprocess', 'presence-sandbox'].map((row) => rows.has(row))
  const base = ['fs-sandbox', 'subprocess', 'sandbox'].map((row) => rows.has(row))
  const [seam = false] = seams
  const halves = seams.some((on) => on !== seam) || base.some((on) => on === seam)
  if (halves || (seam && !rows.has('presence'))) throw new Error(`half a composition: ${[...rows].join()}`)
  if (seam) return 'fs'
  return rows.has('presence') ? 'tools' : 'none'
}

const PNPM_RECORDS: ReadonlySet<string> = new Set(
  KEPT_FILES.filter((file) => file.startsWith('pnpm-') || file.startsWith('node_modules/.')),
)

/** Path to content: a folder, a link's target, or mode and digest of a file. */
export function treeOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name))
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length + 1), contentOf(path)]))
}

function contentOf(path: string): string {
  const stat = lstatSync(path, { bigint: true })
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(path)}`
  if (stat.isDirectory()) return 'folder'
  // Whatever changes a file changes the time at which it was changed last, which nobody can set.
  const version = [stat.dev, stat.ino, stat.size, stat.ctimeNs].join()
  const digest = digests.get(version) ?? createHash('sha256').update(readFileSync(path)).digest('hex')
  digests.set(version, digest)
  return `${(Number(stat.mode) & 0o777).toString(8)} ${digest}`
}

/** Of files that were read before. */
const digests = new Map<string, string>()

/** A bundle of somebody else's, whose row must survive whatever happens to ours. */
async function otherPlugin(folder: string): Promise<string> {
  const source = join(folder, 'other-plugin')
  mkdirSync(source)
  const manifest = {
    name: 'other-plugin',
    version: '1.0.0',
    type: 'module',
    exports: { '.': './index.js', './package.json': './package.json' },
    dsh: { bundle: { patch: './cordis.patch.yml' } },
  }
  writeFileSync(join(source, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(source, 'index.js'), 'export const name = "other-plugin"\nexport function apply() {}\n')
  writeFileSync(join(source, 'cordis.patch.yml'), '- insert:\n    - { id: other, name: other-plugin }\n')
  await done(run([...program('pnpm'), 'pack', '--pack-destination', folder], { cwd: source }))
  return join(folder, 'other-plugin-1.0.0.tgz')
}

/** @throws with what it printed when the command failed. */
export async function done(outcome: Promise<Outcome>): Promise<Outcome> {
  const { code, signal, stdout, stderr } = await outcome
  if (code !== 0) throw new Error(`${String(signal ?? code)}\n${stdout}${stderr}`)
  return { code, signal, stdout, stderr }
}
