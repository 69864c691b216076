/** Files and folders of a machine over plain SFTP, for arranging and removing what checks work on. */
import { childOf, nameOf, parentOf, type RemotePath } from '../base/remote-path.ts'
import type { Presence } from '../core/presence.ts'

type Session = Awaited<ReturnType<ReturnType<Presence['machine']>['session']>>
export type Sftp = Awaited<ReturnType<Session['sftp']>>
type Handle = Awaited<ReturnType<Sftp['createExclusively']>>

const TYPE_BITS = 0o170000
const FOLDER_BITS = 0o040000
/** Bytes that every server takes in one request. */
const CHUNK_BYTES = 32 * 1024

export interface Entry {
  readonly name: string
  readonly folder: boolean
}

export async function entriesOf(sftp: Sftp, folder: RemotePath, signal?: AbortSignal): Promise<Entry[]> {
  const handle = await sftp.openFolder(folder, signal)
  try {
    const entries: Entry[] = []
    for (;;) {
      const batch = await sftp.readFolder(handle, signal)
      if (batch === undefined) return entries
      for (const { name, attributes } of batch) {
        if (name === '.' || name === '..') continue
        entries.push({ name, folder: (attributes.mode & TYPE_BITS) === FOLDER_BITS })
      }
    }
  } finally {
    await sftp.close(handle)
  }
}

/** Parents before what is in them; links are not followed. */
export async function pathsBelow(
  sftp: Sftp,
  folder: RemotePath,
  signal?: AbortSignal,
): Promise<{ readonly path: RemotePath; readonly folder: boolean }[]> {
  const found: { path: RemotePath; folder: boolean }[] = []
  for (const entry of await entriesOf(sftp, folder, signal)) {
    const path = childOf(folder, entry.name)
    found.push({ path, folder: entry.folder })
    if (entry.folder) found.push(...(await pathsBelow(sftp, path, signal)))
  }
  return found
}

/** Remove a file, or a folder with everything in it; what is not there is an error. */
export async function removeTree(sftp: Sftp, path: RemotePath, signal: AbortSignal): Promise<void> {
  const itself = (await entriesOf(sftp, parentOf(path), signal)).find(({ name }) => name === nameOf(path))
  const below = itself?.folder === true ? await pathsBelow(sftp, path, signal) : []
  for (const entry of [{ path, folder: itself?.folder === true }, ...below].toReversed()) {
    await (entry.folder ? sftp.removeFolder(entry.path, signal) : sftp.removeFile(entry.path, signal))
  }
}

/** Write a whole file through a fresh handle, and close it. */
export async function fill(sftp: Sftp, handle: Handle, content: Buffer): Promise<void> {
  try {
    for (let at = 0; at < content.length; at += CHUNK_BYTES) {
      await sftp.write(handle, at, content.subarray(at, at + CHUNK_BYTES))
    }
  } finally {
    await sftp.close(handle)
  }
}
