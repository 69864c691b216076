/**
 * Changes of files that are whole and on the disk when the call returns: replaced by rename, and both
 * the content and the folder's entry are flushed. Nothing here knows what the files mean.
 */
import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf } from './failure.ts'

/** Every reader sees the old content or the new. A link is followed, the mode is kept. */
export async function replaceFile(file: string, content: string | Uint8Array): Promise<void> {
  const target = await existing(file)
  const mode = target === undefined ? 0o644 : (await stat(target)).mode & 0o7777
  await putFile(target ?? file, mode, content)
}

async function putFile(file: string, mode: number, content: string | Uint8Array): Promise<void> {
  const beside = join(dirname(file), `.${basename(file)}.presence-new`)
  await rm(beside, { force: true })
  const handle = await open(beside, 'wx', mode)
  try {
    await handle.writeFile(content)
    await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(beside, file)
  await syncFolder(dirname(file))
}

/** @throws EEXIST when the file is there. */
export async function createFile(file: string, content: string): Promise<void> {
  const handle = await open(file, 'wx', 0o644)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncFolder(dirname(file))
}

/** @returns false when there is nothing to copy. */
export async function copyIfThere(from: string, to: string): Promise<boolean> {
  if ((await existing(from)) === undefined) return false
  await mkdir(dirname(to), { recursive: true })
  await copyFile(from, to, constants.COPYFILE_EXCL)
  await syncFile(to)
  await syncFolder(dirname(to))
  return true
}

/** Rename a file or folder. Both folders' entries are on the disk afterwards. */
export async function move(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await rename(from, to)
  await syncFolder(dirname(to))
  await syncFolder(dirname(from))
}

/** Remove a file, a link or a whole folder; nothing there is fine. */
export async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 3 })
  if ((await existing(dirname(path))) !== undefined) await syncFolder(dirname(path))
}

export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Windows has no way to flush a folder; its file systems order renames by themselves. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** True for anything, a link that leads nowhere too. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false
    throw error
  }
}

/** The path with links resolved; undefined when nothing is there. */
export async function existing(path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
