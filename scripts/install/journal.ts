/**
 * The installer's memory across a sudden end: one small file in the profile that is written, flushed and
 * renamed into place before each step. It says what was begun; `undo.ts` knows what that means.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { createFile, remove, replaceFile } from './durable.ts'
import { codeOf, InstallError } from './failure.ts'
import type { Mode } from './options.ts'
import type { Profile } from './profile.ts'

/**
 * `preparing`: nothing of the profile has been touched. `changing`: it can be undone from the backup.
 * `undoing`: it is being undone. `undone`, `finishing`: the profile is as it was, or the change holds; only
 * leftovers are to be removed.
 */
export type Phase = 'preparing' | 'changing' | 'undoing' | 'undone' | 'finishing'

export interface Entry {
  readonly format: 1
  readonly run: string
  /** The process that wrote it. */
  readonly pid: number
  readonly operation: 'install' | 'uninstall'
  readonly mode: Mode | undefined
  /** What is being installed; undefined when it is being taken out. */
  readonly version: string | undefined
  /** Name of the tarball in the state folder. */
  readonly stored: string | undefined
  readonly removeData: boolean
  readonly phase: Phase
  /** The step that was begun last. */
  readonly step: string
  /** Files of the profile, relative to it, and whether they were there before. */
  readonly files: Readonly<Record<string, boolean>>
  /** The profile had a `node_modules` before. */
  readonly hadModules: boolean
  /** The package's folder was there before. */
  readonly hadPackage: boolean
  /** The profile booted with what it had, so package.json may be put back as it was. */
  readonly restorable: boolean
}

export type Beginning = Omit<Entry, 'format' | 'run' | 'pid' | 'phase' | 'step' | 'files'>

export class Journal {
  readonly #profile: Profile
  #entry: Entry

  constructor(profile: Profile, entry: Entry) {
    this.#profile = profile
    this.#entry = entry
  }

  /** @throws EEXIST when another run has just begun. */
  static async begin(profile: Profile, beginning: Beginning): Promise<Journal> {
    const entry: Entry = {
      format: 1,
      run: randomUUID(),
      pid: process.pid,
      phase: 'preparing',
      step: 'begin',
      files: {},
      ...beginning,
    }
    await mkdir(profile.stateFolder, { recursive: true })
    await createFile(profile.journalFile, textOf(entry))
    return new Journal(profile, entry)
  }

  get entry(): Entry {
    return this.#entry
  }

  async note(change: Partial<Pick<Entry, 'pid' | 'phase' | 'step' | 'files'>>): Promise<void> {
    this.#entry = { ...this.#entry, ...change }
    await replaceFile(this.#profile.journalFile, textOf(this.#entry))
  }

  async end(): Promise<void> {
    await remove(this.#profile.journalFile)
  }
}

/**
 * What an earlier run left; undefined when there is nothing. `unwritten`: it ended while it made the
 * journal, before anything else.
 * @throws InstallError `bad-journal`.
 */
export async function readJournal(profile: Profile): Promise<Entry | 'unwritten' | undefined> {
  const text = await readFile(profile.journalFile, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  // Made exclusively and then written: only an end in between leaves it without its last character.
  if (!text.endsWith('}\n')) return 'unwritten'
  const entry = JSON.parse(text) as Entry
  if (entry.format === 1) return entry
  throw new InstallError(
    'bad-journal',
    `${profile.journalFile} was written by another version of the installer. Use that version with ` +
      '--recover, or follow "Interrupted install" in the runbook.',
  )
}

function textOf(entry: Entry): string {
  return `${JSON.stringify(entry, null, 2)}\n`
}
