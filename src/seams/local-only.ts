/**
 * Requests of later hosts that can only be met on the host's own computer, although their folder is on
 * a machine: a byte channel between two local processes, and a snapshot of changed files, for which the
 * host prepares scratch files here and reads a repository's files here.
 */
import { basename, isAbsolute } from 'node:path'
import type { SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import { StartError } from '../remote/process/errors.ts'
import { wantsControl } from './facts.ts'
import type { ToldFailure } from './told-failure.ts'

/** The snapshot's first question. What it learns from the answer are paths it opens here. */
const SNAPSHOT_QUESTION = ['rev-parse', '--show-toplevel', '--absolute-git-dir', '--git-path', 'objects']

/** Git's own answer outside of repositories: the host then shows no changed files, and goes on. */
const NO_REPOSITORY: ToldFailure = {
  exitCode: 128,
  text: 'fatal: not a git repository (or any of the parent directories): .git\n',
}

/** Where git is to write instead of into the repository. Sent to a machine, it would make these there. */
const SCRATCH_VARIABLES = ['GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY']

/** What to say instead of running the request there, or undefined for one that can run. */
export function localOnlyAnswer(argv: readonly string[]): ToldFailure | undefined {
  const [program = '', ...rest] = argv
  if (!/^git(\.exe)?$/.test(basename(program)) || rest.length !== SNAPSHOT_QUESTION.length) return undefined
  return SNAPSHOT_QUESTION.every((word, index) => rest[index] === word) ? NO_REPOSITORY : undefined
}

/** Why a request cannot run there, or undefined for one that can. */
export function localOnlyRefusal(spec: SubprocessSpawnSpec, machine: string): StartError | undefined {
  if (wantsControl(spec.stdio)) {
    return new StartError('a command there can have no control channel to this computer', 'refused', machine)
  }
  for (const name of SCRATCH_VARIABLES) {
    const path = spec.env?.[name]
    if (path === undefined || !isAbsolute(path)) continue
    return new StartError(
      `${name} names "${path}" on this computer, which git on the machine would take for a path of its own`,
      'refused',
      machine,
    )
  }
  return undefined
}
