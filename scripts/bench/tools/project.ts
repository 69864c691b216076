/** The project that is worked on, the same everywhere: a repository with instructions and many files. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const FILES = 20_000
const IN_A_FOLDER = 100

/** With what the names of all files begin, below the folders. */
export const FILE_NAMES = 'file-'

/** What `glob` is asked for, and what `grep` is. */
export const TABLES_PATTERN = '**/*.csv'
export const NEEDLE = 'a needle lies here'

/** Files below a project of so many that are tables, and those that hold a needle. */
export const tablesOf = (count: number): readonly string[] => filesWhere((at) => at % 500 === 0, count)
export const needlesOf = (count: number): readonly string[] => filesWhere((at) => at % 1000 === 7, count)
export const TABLES = tablesOf(FILES)
export const NEEDLES = needlesOf(FILES)

/** Make it in a folder that is not there yet. @param count - of files, in hundreds. */
export async function makeProject(folder: string, count = FILES): Promise<void> {
  await mkdir(join(folder, '.git'), { recursive: true })
  await writeFile(join(folder, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  await writeFile(join(folder, 'AGENTS.md'), '# Measured project\n\nLeave everything as it is.\n')
  for (let first = 0; first < count; first += IN_A_FOLDER) {
    await mkdir(join(folder, folderOf(first)), { recursive: true })
    const made = Array.from({ length: IN_A_FOLDER }, (_, index) => first + index)
    await Promise.all(made.map((at) => writeFile(join(folder, fileOf(at)), contentOf(at))))
  }
}

/** So many bytes of lines of 64 bytes, which differ in every `serial`. */
export function lines(bytes: number, serial: number): string[] {
  return Array.from({ length: bytes / 64 }, (_, at) => `line ${at} of text ${serial} `.padEnd(63, '.'))
}

/** Those of the first so many files that are chosen. */
export function filesWhere(chosen: (at: number) => boolean, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => at)
    .filter(chosen)
    .map(fileOf)
}

function folderOf(at: number): string {
  return `parts/part-${Math.floor(at / IN_A_FOLDER)}`
}

function fileOf(at: number): string {
  return `${folderOf(at)}/${FILE_NAMES}${at}.${at % 500 === 0 ? 'csv' : 'txt'}`
}

function contentOf(at: number): string {
  const needle = at % 1000 === 7 ? `${NEEDLE}\n` : ''
  return `${lines(256, at).join('\n')}\n${needle}`
}
