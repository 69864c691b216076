/** What the installer prints. Results go to the standard output; what it is doing, beside it. */
import { TESTED_DSH } from './composition.ts'
import type { Installed } from './installed.ts'
import type { Entry } from './journal.ts'
import type { Mode } from './options.ts'
import type { Profile } from './profile.ts'
import type { Step } from './steps.ts'
import type { Ending } from './undo.ts'

export function say(text: string): void {
  console.log(text)
}

export function doing(text: string): void {
  console.error(`presence: ${text}`)
}

export function plan(what: string, steps: readonly Step[], remarks: readonly string[]): void {
  say(`Would ${what}:`)
  steps.forEach((step, index) => say(`  ${index + 1}. ${step.name}: ${step.says}`))
  say(`  ${steps.length + 1}. tidy: remove the backup and tarballs that are not needed any more`)
  remark(remarks)
  say('Nothing was changed.')
}

export function remark(remarks: readonly string[]): void {
  for (const text of remarks) say(`! ${text}`)
}

export function installed(
  profile: Profile,
  before: Installed,
  now: { readonly version: string; readonly mode: Mode },
): void {
  say(`Presence ${now.version} (mode ${now.mode}) is in the profile "${profile.name}" of ${profile.home}.`)
  if (before.version !== undefined) {
    say(`  It takes the place of ${before.version} (mode ${before.mode ?? 'fs'}).`)
  }
  say(
    now.mode === 'fs'
      ? '  It stands in for the host’s file system, commands, sandbox and file references.'
      : '  It adds the panel and the presence_* tools; the host’s own services stay as they are, and its own ' +
          'tools refuse to work in remote workspaces.',
  )
  say(`  Your own patches were not touched: ${profile.patchFile}`)
  say(`  Start DSH now${coldStart(profile)}. The way back: the same command with --uninstall.`)
}

export function uninstalled(profile: Profile, data: 'stays' | 'removed' | 'none'): void {
  say(`Presence is out of the profile "${profile.name}" of ${profile.home}.`)
  say('  The host’s own file system, commands and sandbox are back at the next start.')
  if (data === 'removed') say(`  ${profile.dataFolder} was removed, except folders that were not empty.`)
  if (data === 'stays') {
    say(`  Your machines and workspaces stay in ${profile.dataFolder}.`)
    say('  Remote workspaces in the sidebar are empty local folders while Presence is out.')
  }
}

export function ended(entry: Entry, ending: Ending): void {
  const what = `The interrupted ${operationOf(entry)} (it had come to "${entry.step}")`
  switch (ending) {
    case 'done':
      return say(`${what} had taken hold; its leftovers were removed.`)
    case 'undone':
      return say(`${what} was undone: the profile is as it was before.`)
    case 'without':
      return say(
        `${what} was undone, but what was there before is not whole: the profile is without Presence.`,
      )
  }
}

export function operationOf(entry: Pick<Entry, 'operation'>): string {
  return entry.operation === 'install' ? 'installation' : 'uninstallation'
}

/** What is not supported or not tested, seen before anything is done. */
export function unsupported(before: Installed | undefined, dshVersion: string): string[] {
  const remarks: string[] = []
  if (!TESTED_DSH.includes(dshVersion)) {
    remarks.push(`This is DSH ${dshVersion}. Presence was tested with ${TESTED_DSH.join(', ')}.`)
  }
  if (process.platform === 'win32') {
    remarks.push('Neither Presence nor this installer has been run on Windows beyond unit tests.')
  }
  if (before?.folder === 'link' || before?.spec?.startsWith('link:') === true) {
    remarks.push(
      'Presence is in this profile as a link to a folder. DSH does not start with it, since the host’s ' +
        'packages cannot be found from there. The tarball takes its place.',
    )
  }
  return remarks
}

function coldStart(profile: Profile): string {
  return profile.name === 'web' ? ' (dsh web)' : ` (dsh --profile ${profile.name})`
}
