/**
 * Listing a folder: all batches until the server says end, links followed in one burst, no request for
 * plain entries, and no single entry that can fail the whole.
 */
import { childOf, type RemotePath } from '../../base/remote-path.ts'
import type { SftpChannel, SftpEntry, SftpHandle } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import type { MachineSession } from '../session.ts'
import { FileError, asFileError } from './errors.ts'
import { typeOf, type FileType } from './stat.ts'
import type { Shown } from './read.ts'

/** READDIR requests in flight on one handle; servers answer about 100 names each. */
const FIRST_IN_FLIGHT = 4
const MOST_IN_FLIGHT = 64
const LINKS_AT_ONCE = 256

export interface ListedEntry {
  readonly name: string
  /** Links count as what they lead to; dangling ones are `other`. */
  readonly type: Exclude<FileType, 'symlink'>
  readonly size: number
  readonly isLink: boolean
  /** Where the entry really is: the link's target, or the entry itself. */
  readonly path: RemotePath
}

/** Direct children in the order of the host's own listings. @throws FileError. */
export async function listFolder(
  session: MachineSession,
  folder: Shown,
  signal?: AbortSignal,
): Promise<ListedEntry[]> {
  const doing = `cannot list "${folder.shown}"`
  try {
    const sftp = await session.sftp(signal)
    // An OpenSSH server answers "no such file" for a folder that is a file, so ask first.
    if (typeOf((await sftp.stat(folder.path, signal)).mode) !== 'directory') {
      throw new FileError(`${doing}: not a directory`, 'not-directory', { machine: session.machine })
    }
    const entries = await readEntries(sftp, folder.path, signal)
    const listed = await resolveEntries(sftp, folder.path, entries, signal)
    return listed.toSorted((a, b) => a.name.localeCompare(b.name))
  } catch (error) {
    throw asFileError(error, doing)
  }
}

async function readEntries(
  sftp: SftpChannel,
  path: RemotePath,
  signal: AbortSignal | undefined,
): Promise<SftpEntry[]> {
  const handle = await sftp.openFolder(path, signal)
  try {
    return await readAllBatches(sftp, handle, signal)
  } finally {
    sftp.close(handle).catch((_onlyTheHandleIsLost: unknown) => undefined)
  }
}

async function readAllBatches(
  sftp: SftpChannel,
  handle: SftpHandle,
  signal: AbortSignal | undefined,
): Promise<SftpEntry[]> {
  const entries: SftpEntry[] = []
  for (let inFlight = FIRST_IN_FLIGHT; ; inFlight = Math.min(inFlight * 2, MOST_IN_FLIGHT)) {
    const batches = await Promise.all(Array.from({ length: inFlight }, () => sftp.readFolder(handle, signal)))
    let ended = false
    for (const batch of batches) {
      if (batch === undefined) ended = true
      else entries.push(...batch)
    }
    if (ended) return entries.filter((entry) => entry.name !== '.' && entry.name !== '..')
  }
}

async function resolveEntries(
  sftp: SftpChannel,
  folder: RemotePath,
  entries: readonly SftpEntry[],
  signal: AbortSignal | undefined,
): Promise<ListedEntry[]> {
  const listed: ListedEntry[] = []
  const links: SftpEntry[] = []
  for (const entry of entries) {
    const type = typeOf(entry.attributes.mode)
    if (type === 'symlink') links.push(entry)
    else {
      const path = childOf(folder, entry.name)
      listed.push({ name: entry.name, type, size: entry.attributes.size, isLink: false, path })
    }
  }
  for (let at = 0; at < links.length; at += LINKS_AT_ONCE) {
    const burst = links.slice(at, at + LINKS_AT_ONCE)
    listed.push(...(await Promise.all(burst.map((link) => resolveLink(sftp, folder, link, signal)))))
  }
  return listed
}

async function resolveLink(
  sftp: SftpChannel,
  folder: RemotePath,
  link: SftpEntry,
  signal: AbortSignal | undefined,
): Promise<ListedEntry> {
  const path = childOf(folder, link.name)
  try {
    const [attributes, target] = await Promise.all([sftp.stat(path, signal), sftp.realpath(path, signal)])
    const type = typeOf(attributes.mode)
    return {
      name: link.name,
      type: type === 'symlink' ? 'other' : type,
      size: attributes.size,
      isLink: true,
      path: target as RemotePath,
    }
  } catch (error) {
    if (!(error instanceof SftpStatusError)) throw error
    return { name: link.name, type: 'other', size: 0, isLink: true, path }
  }
}
