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
import { typeOf, type FileType } from './stat.ts'
import { exactVersionsIn, plainVersion } from './versions.ts'
import type { Shown } from './read.ts'

/** READDIR requests in flight on one handle; servers answer about 100 names each. */
const FIRST_IN_FLIGHT = 4
const MOST_IN_FLIGHT = 64
const LOOKED_AT_ONCE = 256
/** A server that gives so many batches of nothing in a row, and no end, gives none ever. */
const MOST_EMPTY = 1000

export interface ListedEntry {
  /** As the host shows it; `path` has the bytes. */
  readonly name: string
  /** Links count as what they lead to; dangling ones are `other`. */
  readonly type: Exclude<FileType, 'symlink'>
  readonly size: number
  readonly isLink: boolean
  /** Where the entry really is: the link's target, or the entry itself. */
  readonly path: RemotePath
  /** As `stat` of the path has it; undefined when that is not known. */
  readonly version: string | undefined
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
    const [entries, exact] = await Promise.all([
      readEntries(sftp, folder.path, signal),
      exactVersionsIn(session, folder.path, signal),
    ])
    // OpenSSH leaves out what it cannot look at: a folder that may not be searched would seem to be empty.
    if (entries.length === 0) await sftp.stat(`${folder.path}/.`, signal)
    const seen = await lookAtEntries(sftp, folder.path, entries, signal)
    const listed = seen.map(({ plain, ...entry }) => ({
      ...entry,
      name: shownName(entry.name),
      version: plain === undefined || exact === undefined ? plain : exact.get(entry.name),
    }))
    return listed.toSorted((a, b) => a.name.localeCompare(b.name))
  } catch (error) {
    throw asFileError(error, doing)
  }
}

/** Everything that is in a folder, in the server's order. @throws SftpStatusError; FileError for a list without end. */
export async function readEntries(
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
  let empty = 0
  for (let inFlight = FIRST_IN_FLIGHT; ; inFlight = Math.min(inFlight * 2, MOST_IN_FLIGHT)) {
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

/** An entry with its token by SFTP; undefined where nothing was found by its name. */
type Seen = Omit<ListedEntry, 'version'> & { readonly plain: string | undefined }

async function lookAtEntries(
  sftp: SftpChannel,
  folder: RemotePath,
  entries: readonly SftpEntry[],
  signal: AbortSignal | undefined,
): Promise<Seen[]> {
  const seen: Seen[] = []
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
  return withoutDecoys(seen)
}

function seenAs(name: string, path: RemotePath, attributes: FileAttributes, isLink: boolean): Seen {
  const type = typeOf(attributes.mode)
  return {
    name,
    type: type === 'symlink' ? 'other' : type,
    size: attributes.size,
    isLink,
    path,
    plain: plainVersion(attributes),
  }
}

function nothing(name: string, path: RemotePath, isLink: boolean): Seen {
  return { name, type: 'other', size: 0, isLink, path, plain: undefined }
}

/** Ask for what an entry leads to. What cannot be looked at is listed all the same. */
async function lookAt(
  sftp: SftpChannel,
  folder: RemotePath,
  { name, attributes }: SftpEntry,
  signal: AbortSignal | undefined,
): Promise<Seen> {
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
function withoutDecoys(entries: readonly Seen[]): Seen[] {
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
