/**
 * The installer as a story: look, refuse what must be refused, bring an earlier run to its end, plan,
 * and then either tell the plan or carry it out.
 */
import { existsSync } from 'node:fs'
import { leaveNothing } from './backup.ts'
import { inMode, readBundle, storedName } from './bundle.ts'
import { installSteps, uninstallSteps, type Circumstances } from './change.ts'
import { askComposition } from './composition.ts'
import { removeData } from './data.ts'
import { remove } from './durable.ts'
import { codeOf, InstallError } from './failure.ts'
import { lookAt, type Installed } from './installed.ts'
import { Journal, readJournal, type Beginning } from './journal.ts'
import { parseManifest } from './manifest.ts'
import { parseOptions, USAGE, type Options } from './options.ts'
import { profileAt, profilesOf, stateOf, type Profile } from './profile.ts'
import { callDsh, findPrograms, type Programs } from './programs.ts'
import { isInstaller, waitForPnpm, workIn } from './running.ts'
import { findTarball, type Source } from './source.ts'
import { at, take, type Step } from './steps.ts'
import * as tell from './tell.ts'
import { bringToAnEnd, finish } from './undo.ts'

/** @throws InstallError. What was done has been printed. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv, source: Source): Promise<void> {
  const options = parseOptions(argv, env)
  if (options === undefined) return tell.say(USAGE)
  const profile = profileAt(options.dshHome, options.profile)
  const state = await stateOf(profile, options.dshHomeNamed)
  if (state === 'there') {
    await refuseWhileRunning(profile, options)
    const left = await endInterruption(profile, options)
    if (options.operation === 'recover' && left) return
  }
  switch (options.operation) {
    case 'recover':
      return tell.say('No interrupted run has left anything in this profile.')
    case 'uninstall':
      if (state === 'there') return uninstall(profile, options, env)
      return tell.say(`There is no profile "${profile.name}" yet, so nothing is to be taken out.`)
    case 'install':
      return install(profile, state, options, env, source)
  }
}

async function install(
  profile: Profile,
  state: 'there' | 'missing',
  options: Options,
  env: NodeJS.ProcessEnv,
  source: Source,
): Promise<void> {
  const programs = findPrograms(profile, options.dsh, env)
  if (options.tarball === undefined && source.kind === 'checkout' && options.whatIf) {
    return tell.say('Would pack this checkout first. Give --tarball to see what would follow.')
  }
  if (options.tarball === undefined && source.kind === 'checkout') tell.doing('packing this checkout …')
  const packed = await readBundle(options.tarball ?? (await findTarball(source)))
  if (state === 'missing' && !options.whatIf) {
    tell.doing(`letting DSH make the profile "${profile.name}" …`)
    await askComposition(programs, profile, env)
  }
  const before = existsSync(profile.manifestFile) ? await lookAt(profile) : NOTHING
  const mode = options.mode ?? before.mode ?? 'fs'
  const bundle = inMode(packed, mode)
  const stored = storedName(bundle, mode)
  const remarks = tell.unsupported(before, await dshVersion(programs, profile, env))
  if (options.verify === 'boot' && profile.name !== 'web') {
    remarks.push('Only the profile "web" can be started for a look; the composition is verified.')
  }
  const verify = profile.name === 'web' ? options.verify : 'composition'
  const circumstances = { profile, programs, env, before, remark: (text: string) => remarks.push(text) }
  const steps = installSteps(circumstances, { bundle, mode, stored, verify })
  if (options.whatIf) {
    return tell.plan(
      `install Presence ${bundle.version} (mode ${mode}) into ${profile.folder}`,
      steps,
      remarks,
    )
  }
  await carryOut(circumstances, steps, {
    operation: 'install',
    mode,
    version: bundle.version,
    stored,
    removeData: false,
  })
  tell.installed(profile, before, { version: bundle.version, mode })
  tell.remark(remarks)
}

async function uninstall(profile: Profile, options: Options, env: NodeJS.ProcessEnv): Promise<void> {
  if (options.removeData) await refuseWhileShared(profile)
  const before = await lookAt(profile)
  if (!before.listed && before.spec === undefined && before.folder === 'none') {
    if (!options.whatIf) {
      // A tarball stays when somebody else has taken the package out.
      await remove(profile.stateFolder)
      if (options.removeData) await removeData(profile)
    }
    return tell.say(`Presence is not in the profile "${profile.name}" of ${profile.home}.`)
  }
  const programs = findPrograms(profile, options.dsh, env)
  const remarks: string[] = []
  const circumstances = { profile, programs, env, before, remark: (text: string) => remarks.push(text) }
  const steps = uninstallSteps(circumstances)
  if (options.whatIf) {
    return tell.plan(`take Presence ${before.version ?? ''} out of ${profile.folder}`, steps, remarks)
  }
  const hadData = existsSync(profile.dataFolder)
  await carryOut(circumstances, steps, {
    operation: 'uninstall',
    mode: undefined,
    version: undefined,
    stored: undefined,
    removeData: options.removeData,
  })
  tell.uninstalled(profile, options.removeData ? 'removed' : hadData ? 'stays' : 'none')
  tell.remark(remarks)
}

type Intention = Pick<Beginning, 'operation' | 'mode' | 'version' | 'stored' | 'removeData'>

/** All steps, or none of them: a step that fails has the earlier ones undone. */
async function carryOut(
  { profile, before }: Circumstances,
  steps: readonly Step[],
  intention: Intention,
): Promise<void> {
  await at('before', 'begin')
  const journal = await begin(profile, before, intention)
  await at('after', 'begin')
  try {
    await take(steps, journal, { stoppable: true })
  } catch (failure) {
    tell.doing(`the step "${journal.entry.step}" failed; undoing …`)
    tell.ended(journal.entry, await bringToAnEnd(profile, journal))
    throw failure
  }
  await finish(profile, journal)
}

async function begin(profile: Profile, before: Installed, intention: Intention): Promise<Journal> {
  try {
    return await Journal.begin(profile, {
      ...intention,
      hadModules: existsSync(`${profile.folder}/node_modules`),
      hadPackage: before.folder !== 'none',
      restorable: !before.listed || before.whole,
    })
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST') throw cause
    throw new InstallError('busy', 'Another run of the installer has just begun in this profile.', { cause })
  }
}

/** @returns true when an earlier run had left something, which has been brought to its end (or would be). */
async function endInterruption(profile: Profile, options: Options): Promise<boolean> {
  const left = await readJournal(profile)
  if (left === undefined) return false
  if (left === 'unwritten') {
    tell.say('An interrupted run had begun, but changed nothing.')
    if (!options.whatIf) {
      await remove(profile.journalFile)
      await leaveNothing(profile)
    }
    return true
  }
  if (left.pid !== process.pid && (await isInstaller(left.pid))) {
    throw new InstallError('busy', `Another run of the installer is at work here (process ${left.pid}).`)
  }
  if (options.whatIf) {
    tell.say(
      `An ${tell.operationOf(left)} was interrupted at "${left.step}". It would be brought to its end first.`,
    )
    return true
  }
  tell.doing(`an ${tell.operationOf(left)} was interrupted at "${left.step}"; bringing it to its end …`)
  await waitForPnpm(profile)
  const journal = new Journal(profile, left)
  await journal.note({ pid: process.pid })
  tell.ended(left, await bringToAnEnd(profile, journal))
  return true
}

const COLD_RESTART =
  'A running DSH would take up only a part of the new composition: it watches its patch files, but not ' +
  'its list of bundles, and keeps the programs it has loaded until it is started anew.'

async function refuseWhileRunning(profile: Profile, options: Options): Promise<void> {
  const [work] = (await workIn(profile)).filter((one) => one.kind !== 'pnpm')
  if (work === undefined) return
  const doubt = work.uncertain ? ' (perhaps with another home: that cannot be seen here)' : ''
  const what = work.kind === 'host' ? 'DSH is running' : '"dsh plugin" is at work'
  const found = `${what} in the profile "${profile.name}"${doubt}: process ${work.pid}, ${work.command}`
  if (options.whatIf || options.force) return tell.say(`! ${found}\n! ${COLD_RESTART} Restart it afterwards.`)
  throw new InstallError(
    'host-running',
    `${found}\n${COLD_RESTART} End it, then run the installer again; or give --force and restart DSH at once ` +
      'afterwards. Nothing was changed.',
  )
}

async function refuseWhileShared(profile: Profile): Promise<void> {
  for (const name of await profilesOf(profile.home)) {
    if (name === profile.name || !(await lookAt(profileAt(profile.home, name))).listed) continue
    throw new InstallError(
      'usage',
      `The profile "${name}" uses Presence too, and shares ${profile.dataFolder}: leave out --remove-data, ` +
        'or take Presence out there first. Nothing was changed.',
    )
  }
}

async function dshVersion(programs: Programs, profile: Profile, env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await callDsh(programs, profile, ['--version'], env)
  return stdout.trim()
}

/** What a profile holds that DSH has not made yet. */
const NOTHING: Installed = {
  manifest: parseManifest('{}', 'package.json'),
  listed: false,
  spec: undefined,
  folder: 'none',
  version: undefined,
  mode: undefined,
  whole: false,
}
