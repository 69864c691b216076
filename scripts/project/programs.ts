/** Finds programs of the machine the scripts run on. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where a program is; `sbin` counts even when the user's PATH leaves it out. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin']
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch (_notThereOrNotOurs) {
    return false
  }
}
