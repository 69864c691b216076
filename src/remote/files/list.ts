/**
 * Listing a folder: all batches until the server says end, links followed in one burst, no request for
 * plain entries, and no single entry that can fail the whole.
 */
import { UNREADABLE, shownName } from '../../base/name-bytes.ts'
import { childOf, type RemotePath } from '../../base/remote-path.ts'
import type { FileAttributes, SftpChannel, SftpEntry, SftpHandle } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import type { MachineSession } from '../session.ts'
import { FileError, asFileError } from './errors.ts'
import { typeOf } from './stat.ts'
import type { ListedEntry } from './listed-entry.ts'
import { exactVersionsIn, plainVersion } from './versions.ts'
import type { Shown } from './read.ts'

/** READDIR requests in flight on one handle; servers answer about 100 names each. */
const FIRST_IN_FLIGHT = 16
const MOST_IN_FLIGHT = 128
const LOOKED_AT_ONCE = 256
/** As the host's own listings are ordered. */
const BY_NAME = new Intl.Collator()
/** A server that gives so many batches of nothing in a row, and no end, gives none ever. */
const MOST_EMPTY = 1000

/** Entries as they were found, in the order of the host's own listings and by the names that it shows. */
export function inOrder(entries: readonly ListedEntry[]): ListedEntry[] {
  return withoutDecoys(entries)
    .map((entry) => ({ ...entry, name: shownName(entry.name) }))
    .toSorted((a, b) => BY_NAME.compare(a.name, b.name))
}

/** Direct children as they are found, by their own names. @throws FileError; LinkLostError; CancelledError. */
export async function listFolder(
  session: MachineSession,
  folder: Shown,
  signal?: AbortSignal,
): Promise<ListedEntry[]> {
  try {
    return await listed(session, folder, signal)
  } catch (error) {
    throw asFileError(error, `cannot list "${folder.shown}"`)
  }
}

async function listed(
  session: MachineSession,
  folder: Shown,
  signal: AbortSignal | undefined,
): Promise<ListedEntry[]> {
  const sftp = await session.sftp(signal)
  const [attributes, entries, exact] = await Promise.all([
    sftp.stat(folder.path, signal),
    // An OpenSSH server answers "no such file" for a folder that is a file.
    readEntries(sftp, folder.path, signal).catch((error: unknown) => ({ error })),
    exactVersionsIn(session, folder.path, signal),
  ])
  if (typeOf(attributes.mode) !== 'directory') {
    const why = `cannot list "${folder.shown}": not a directory`
    throw new FileError(why, 'not-directory', { machine: session.machine })
  }
  if ('error' in entries) throw entries.error
  // OpenSSH leaves out what it cannot look at: a folder that may not be searched would seem to be empty.
  if (entries.length === 0) await sftp.stat(`${folder.path}/.`, signal)
  const seen = await lookAtEntries(sftp, folder.path, entries, signal)
  if (exact === undefined) return seen
  return seen.map((entry) => ({
    ...entry,
    version: entry.version === undefined ? undefined : exact.get(entry.name),
  }))
}

/**
 * Everything that is in a folder, in the server's order.
 * @param firstInFlight - for who lists many folders at once.
 * @throws SftpStatusError; FileError for a list without end.
 */
export async function readEntries(
  sftp: SftpChannel,
  path: RemotePath,
  signal: AbortSignal | undefined,
  firstInFlight = FIRST_IN_FLIGHT,
): Promise<SftpEntry[]> {
  const handle = await sftp.openFolder(path, signal)
  try {
    return await readAllBatches(sftp, handle, signal, firstInFlight)
  } finally {
    sftp.close(handle).catch((_onlyTheHandleIsLost: unknown) => undefined)
  }
}

async function readAllBatches(
  sftp: SftpChannel,
  handle: SftpHandle,
  signal: AbortSignal | undefined,
  firstInFlight: number,
): Promise<SftpEntry[]> {
  const entries: SftpEntry[] = []
  let empty = 0
  for (let inFlight = firstInFlight; ; inFlight = Math.min(inFlight * 8, MOST_IN_FLIGHT)) {
    const batches = await Promise.all(Array.from({ length: inFlight }, () => sftp.readFolder(handle, signal)))
    let ended = false
    for (const batch of batches) {
      if (batch === undefined) ended = true
      else if (batch.length === 0) empty += 1
      else {
        empty = 0
        // One by one: a batch may hold more names than a call may have arguments.
        for (const entry of batch) entries.push(entry)
      }
    }
    if (ended) return entries.filter((entry) => entry.name !== '.' && entry.name !== '..')
    if (empty > MOST_EMPTY) {
      throw new FileError('the server lists nothing without an end', 'io', { machine: sftp.machine })
    }
  }
}

async function lookAtEntries(
  sftp: SftpChannel,
  folder: RemotePath,
  entries: readonly SftpEntry[],
  signal: AbortSignal | undefined,
): Promise<ListedEntry[]> {
  const seen: ListedEntry[] = []
  const unclear: SftpEntry[] = []
  for (const entry of entries) {
    const { mode } = entry.attributes
    if (mode === 0 || typeOf(mode) === 'symlink' || entry.name.includes(UNREADABLE)) unclear.push(entry)
    else seen.push(seenAs(entry.name, childOf(folder, entry.name), entry.attributes, false))
  }
  for (let at = 0; at < unclear.length; at += LOOKED_AT_ONCE) {
    const burst = unclear.slice(at, at + LOOKED_AT_ONCE)
    seen.push(...(await Promise.all(burst.map((entry) => lookAt(sftp, folder, entry, signal)))))
  }
  return seen
}

function seenAs(name: string, path: RemotePath, attributes: FileAttributes, isLink: boolean): ListedEntry {
  const type = typeOf(attributes.mode)
  return {
    name,
    type: type === 'symlink' ? 'other' : type,
    size: attributes.size,
    isLink,
    path,
    version: plainVersion(attributes),
  }
}

function nothing(name: string, path: RemotePath, isLink: boolean): ListedEntry {
  return { name, type: 'other', size: 0, isLink, path, version: undefined }
}

/** Ask for what an entry leads to. What cannot be looked at is listed all the same. */
async function lookAt(
  sftp: SftpChannel,
  folder: RemotePath,
  { name, attributes }: SftpEntry,
  signal: AbortSignal | undefined,
): Promise<ListedEntry> {
  const path = childOf(folder, name)
  const isLink = typeOf(attributes.mode) === 'symlink'
  try {
    const [found, target] = await Promise.all([sftp.stat(path, signal), sftp.realpath(path, signal)])
    return seenAs(name, target as RemotePath, found, isLink)
  } catch (error) {
    if (!(error instanceof SftpStatusError)) throw error
    return nothing(name, path, isLink)
  }
}

/**
 * Entries that read alike cannot be told apart by who opens them by what is shown: whose name is not the one
 * that is shown is marked as nothing that can be opened. Only its own path leads to it.
 */
function withoutDecoys(entries: readonly ListedEntry[]): ListedEntry[] {
  const alike = new Map<string, number>()
  for (const { name } of entries) {
    const shown = shownName(name)
    if (shown.includes(UNREADABLE)) alike.set(shown, (alike.get(shown) ?? 0) + 1)
  }
  const names = new Set<string>()
  return entries.map((entry) => {
    const shown = shownName(entry.name)
    if ((alike.get(shown) ?? 0) < 2) return entry
    // A server that replaces such bytes itself lists one name twice.
    const meant = shown === entry.name && !names.has(shown)
    names.add(entry.name)
    return meant ? entry : nothing(entry.name, entry.path, entry.isLink)
  })
}
