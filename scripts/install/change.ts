/**
 * The two changes of a profile as lists of steps: putting Presence in (also over an older version) and
 * taking it out. The order is the safety: Presence is switched off before the package manager touches
 * anything, and switched on by one rename when all of it is there.
 */
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { keepFiles, keepPackage, keptManifest } from './backup.ts'
import { compressed, type Bundle } from './bundle.ts'
import { askComposition, judgeInstalled, judgeRemoved } from './composition.ts'
import { bootWeb } from './boot.ts'
import { replaceFile, syncFile } from './durable.ts'
import { InstallError } from './failure.ts'
import type { Installed } from './installed.ts'
import { bundlesOf, parseManifest, switchedOff, switchedOn, type Manifest } from './manifest.ts'
import type { Mode, Options } from './options.ts'
import { PACKAGE, type Profile } from './profile.ts'
import { callPnpm, type Programs } from './programs.ts'
import type { Step } from './steps.ts'

export interface Circumstances {
  readonly profile: Profile
  readonly programs: Programs
  readonly env: NodeJS.ProcessEnv
  /** What was there before the change. */
  readonly before: Installed
  /** Something a person should know, said at the end. */
  remark(text: string): void
}

export interface Installation {
  readonly bundle: Bundle
  readonly mode: Mode
  /** Name of the tarball in the state folder. */
  readonly stored: string
  readonly verify: Options['verify']
}

export function installSteps(at: Circumstances, { bundle, mode, stored, verify }: Installation): Step[] {
  const { profile, programs, env, before } = at
  const { listed, spec, folder } = before
  const there = listed || spec !== undefined
  return [
    backupStep(at),
    {
      name: 'store',
      says: `keep the tarball as ${inProfile(profile, join(profile.stateFolder, stored))}`,
      phase: 'changing',
      run: () => replaceFile(join(profile.stateFolder, stored), compressed(bundle)),
    },
    ...(there ? [switchOffStep(at, { dependency: false })] : []),
    ...(folder === 'none' ? [] : [asideStep(at)]),
    {
      name: 'unpack',
      says: `run "pnpm add ./.presence/${stored}" in the profile`,
      run: () => callPnpm(programs, profile, ['add', `./.presence/${stored}`], env),
    },
    {
      name: 'check',
      says: `compare every file in ${inProfile(profile, profile.packageFolder)} with the tarball`,
      run: () => checkUnpacked(profile, bundle),
    },
    {
      name: 'switch-on',
      says: `add ${PACKAGE} to the bundles in package.json`,
      run: async () => {
        const text = switchedOn(await currentManifest(profile), bundlesOf(before.manifest))
        await replaceFile(profile.manifestFile, text)
      },
    },
    {
      name: 'verify',
      says: `ask DSH for the composition (--dump-config)${verify === 'boot' ? ' and start it briefly' : ''}`,
      run: async () => {
        const composition = await askComposition(programs, profile, env)
        for (const text of judgeInstalled(composition, mode, profile)) at.remark(text)
        if (verify === 'boot') await bootWeb(programs, profile, env, bundle.version)
      },
    },
    COMMIT,
  ]
}

export function uninstallSteps(at: Circumstances): Step[] {
  const { profile, programs, env, before } = at
  return [
    backupStep(at),
    { ...switchOffStep(at, { dependency: true }), phase: 'changing' },
    ...(before.folder === 'none' ? [] : [asideStep(at)]),
    ...(before.spec === undefined
      ? []
      : [
          {
            name: 'remove',
            says: `run "pnpm remove ${PACKAGE}" in the profile`,
            run: () => callPnpm(programs, profile, ['remove', PACKAGE], env),
          },
        ]),
    {
      name: 'manifest',
      says: 'write package.json as it was, without Presence',
      run: async () => {
        const text = switchedOff(await keptManifest(profile), { dependency: false })
        await replaceFile(profile.manifestFile, text)
      },
    },
    {
      name: 'verify',
      says: 'ask DSH for the composition (--dump-config)',
      run: async () => {
        // A profile that something else breaks must not keep Presence in.
        try {
          for (const text of judgeRemoved(await askComposition(programs, profile, env))) at.remark(text)
        } catch (error) {
          if (!(error instanceof InstallError)) throw error
          at.remark(`Presence is out, but something else is wrong with this profile. ${error.message}`)
        }
      },
    },
    COMMIT,
  ]
}

/** From here on an interruption is finished, not undone. */
const COMMIT: Step = {
  name: 'commit',
  says: 'note that the change holds',
  phase: 'finishing',
  run: () => Promise.resolve(),
}

function backupStep({ profile, before }: Circumstances): Step {
  return {
    name: 'backup',
    says: `copy package.json, the lock file and pnpm's own records to ${inProfile(profile, profile.backupFolder)}`,
    run: async (journal) => {
      await journal.note({ files: await keepFiles(profile) })
      if ((await keptManifest(profile)).text === before.manifest.text) return
      throw new InstallError('busy', `Somebody else has just changed ${profile.manifestFile}. Try again.`)
    },
  }
}

function switchOffStep({ profile, before }: Circumstances, keep: { readonly dependency: boolean }): Step {
  return {
    name: 'switch-off',
    says: `take ${PACKAGE} out of the bundles in package.json: the profile boots without it`,
    run: () => replaceFile(profile.manifestFile, switchedOff(before.manifest, keep)),
  }
}

function asideStep({ profile }: Circumstances): Step {
  return {
    name: 'aside',
    says: `move ${inProfile(profile, profile.packageFolder)} to the backup`,
    run: () => keepPackage(profile),
  }
}

/** Files looked at together; flushing one after another would be slow. */
const AT_ONCE = 32

/** Also flushes what the package manager wrote: it is to be on the disk before it is switched on. */
async function checkUnpacked(profile: Profile, bundle: Bundle): Promise<void> {
  const files = [...bundle.files]
  for (let first = 0; first < files.length; first += AT_ONCE) {
    const some = files.slice(first, first + AT_ONCE)
    await Promise.all(some.map(([path, content]) => checkFile(join(profile.packageFolder, path), content)))
  }
}

async function checkFile(file: string, content: Buffer): Promise<void> {
  const found = await readFile(file).catch((cause: unknown) => {
    throw new InstallError('package-manager', `pnpm did not unpack ${file}.`, { cause })
  })
  if (!found.equals(content)) {
    throw new InstallError('package-manager', `pnpm unpacked ${file} otherwise than the tarball has it.`)
  }
  await syncFile(file)
}

async function currentManifest(profile: Profile): Promise<Manifest> {
  return parseManifest(await readFile(profile.manifestFile, 'utf8'), profile.manifestFile)
}

function inProfile(profile: Profile, path: string): string {
  return relative(profile.folder, path)
}
