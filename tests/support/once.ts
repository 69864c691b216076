/**
 * Things that are dear to make and the same for every test file: whoever needs one first makes it, the
 * others wait for it and take copies. They last as long as the run; what is in them is not known here.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { run } from '../../scripts/project/children.ts'

/**
 * A folder with what `make` puts into it, for all workers the same; it is only to be copied.
 * @throws with the maker's words, for everybody, when it could not be made.
 */
export async function onceInRun(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject('shared'), name)
  const verdict = `${folder}.made`
  if (isFirst(folder)) tell(verdict, await failureOf(make(folder)))
  // The maker may be another worker. One that is killed leaves no verdict: then the hook's time-out ends it.
  while (!existsSync(verdict)) await new Promise((resume) => setTimeout(resume, 50))
  const failure = readFileSync(verdict, 'utf8')
  if (failure !== '') throw new Error(`${name} could not be made: ${failure}`)
  return folder
}

/** Copy a whole folder with modes, times and links. @throws with what `cp` says. */
export async function copyFolder(from: string, to: string): Promise<void> {
  const { code, stderr } = await run(['cp', '-a', from, to])
  if (code !== 0) throw new Error(`${from} could not be copied: ${stderr}`)
}

function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Appears whole. */
function tell(verdict: string, failure: string): void {
  writeFileSync(`${verdict}.part`, failure)
  renameSync(`${verdict}.part`, verdict)
}

async function failureOf(making: Promise<void>): Promise<string> {
  try {
    await making
    return ''
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}
