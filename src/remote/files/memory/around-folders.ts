/**
 * What lies beside folders by the names that the host looks for, found out for many folders at once: in one
 * question to the helper shell, or in one flight of SFTP requests and another for links.
 */
import { textOfBytes } from '../../../base/name-bytes.ts'
import { quoteAll } from '../../../base/shell-word.ts'
import { childOf, type RemotePath } from '../../../base/remote-path.ts'
import type { SftpChannel } from '../../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../../ssh/errors.ts'
import { AROUND, LONGEST_AROUND } from '../../shell/file-functions.ts'
import type { MachineSession } from '../../session.ts'
import type { FileState } from './contents.ts'
import { answerOf } from '../by-shell/helper-answer.ts'
import { isAbsent } from '../errors.ts'
import { parseShellStat } from '../by-shell/shell-stat.ts'
import { statOf, typeOf, type FileStat } from '../stat.ts'

/** What was found at one path. */
export interface Found {
  readonly canonical: RemotePath
  /** Through links; undefined when nothing is there. */
  readonly stat: FileStat | undefined
}

export interface Around {
  /** By the path as it was asked for: `<folder>/<name>`. What is out of the ordinary is not among them. */
  readonly found: ReadonlyMap<RemotePath, Found>
  /** Small contents that came along, by canonical paths. */
  readonly contents: ReadonlyMap<RemotePath, FileState>
}

/** @throws LinkLostError; CancelledError. */
export async function lookAround(
  session: MachineSession,
  folders: readonly RemotePath[],
  withContents: boolean,
  signal?: AbortSignal,
): Promise<Around> {
  const told = session.hasFileFunctions
    ? await aroundByShell(session, folders, withContents, signal)
    : undefined
  return (
    told ?? { found: await aroundBySftp(await session.sftp(signal), folders, signal), contents: new Map() }
  )
}

interface Present {
  readonly path: RemotePath
  readonly canonical: RemotePath
}

async function aroundByShell(
  session: MachineSession,
  folders: readonly RemotePath[],
  withContents: boolean,
  signal: AbortSignal | undefined,
): Promise<Around | undefined> {
  const script = `c=${withContents ? 'y' : ''}; around ${quoteAll(folders)}`
  const answer = await answerOf(session, script, { signal })
  if (answer === undefined || answer.status !== 0) return undefined
  const fields = new Fields(answer.output)
  const found = new Map<RemotePath, Found>()
  const present: Present[] = []
  for (const folder of folders) {
    const physical = fields.text()
    if (physical === undefined) return undefined
    if (physical === '') continue
    for (const name of AROUND) {
      const path = childOf(folder, name)
      const told = fields.text()
      const itself = childOf(physical as RemotePath, name)
      if (told === 'a') found.set(path, { canonical: itself, stat: undefined })
      else if (told === 'p') present.push({ path, canonical: itself })
      else if (told?.startsWith('l') === true) present.push({ path, canonical: told.slice(1) as RemotePath })
    }
  }
  if (fields.text() !== '=') return undefined
  const lines = present.length === 0 ? [] : (fields.text() ?? '').trimEnd().split('\n')
  // One that went away in between: then it is not known whose the lines are.
  if (lines.length !== present.length) return { found, contents: new Map() }
  const states = present.map((one, index) => ({ ...one, stat: parseShellStat(lines[index] ?? '') }))
  for (const { path, canonical, stat } of states) if (stat !== undefined) found.set(path, { canonical, stat })
  return { found, contents: contentsOf(states, fields.rest) }
}

function contentsOf(
  states: readonly (Present & { readonly stat: FileStat | undefined })[],
  bytes: Buffer,
): Map<RemotePath, FileState> {
  const contents = new Map<RemotePath, FileState>()
  let at = 0
  for (const { canonical, stat } of states) {
    if (stat?.type !== 'file') continue
    const length = Math.min(stat.size, LONGEST_AROUND + 1)
    if (stat.size <= LONGEST_AROUND) {
      contents.set(canonical, { stat, content: Buffer.from(bytes.subarray(at, at + length)) })
    }
    at += length
  }
  // Somebody has written in between, or one could not be read: then it is not known where each ends.
  return at === bytes.length ? contents : new Map()
}

/** Texts that end with NUL, and the bytes behind them. */
class Fields {
  #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  text(): string | undefined {
    const end = this.#bytes.indexOf(0)
    if (end < 0) return undefined
    const text = textOfBytes(this.#bytes.subarray(0, end))
    this.#bytes = this.#bytes.subarray(end + 1)
    return text
  }

  get rest(): Buffer {
    return this.#bytes
  }
}

async function aroundBySftp(
  sftp: SftpChannel,
  folders: readonly RemotePath[],
  signal: AbortSignal | undefined,
): Promise<Map<RemotePath, Found>> {
  const found = new Map<RemotePath, Found>()
  const look = async (folder: RemotePath): Promise<void> => {
    const [physical, ...entries] = await Promise.all([
      orStatus(sftp.realpath(folder, signal)),
      ...AROUND.map(async (name) => ({
        name,
        entry: await orStatus(sftp.lstat(childOf(folder, name), signal)),
      })),
    ])
    if (typeof physical !== 'string') return
    await Promise.all(
      entries.map(async ({ name, entry }) => {
        const path = childOf(folder, name)
        const itself = childOf(physical as RemotePath, name)
        if (entry instanceof SftpStatusError) {
          if (isAbsent(entry)) found.set(path, { canonical: itself, stat: undefined })
          return
        }
        const type = typeOf(entry.mode)
        if (type === 'file' || type === 'directory') {
          found.set(path, { canonical: itself, stat: statOf(entry) })
          return
        }
        const seen = await lookAt(sftp, path, type === 'symlink' ? undefined : itself, signal)
        if (seen !== undefined) found.set(path, seen)
      }),
    )
  }
  await Promise.all(folders.map(look))
  return found
}

async function lookAt(
  sftp: SftpChannel,
  path: RemotePath,
  canonical: RemotePath | undefined,
  signal: AbortSignal | undefined,
): Promise<Found | undefined> {
  const [attributes, real] = await Promise.all([
    orStatus(sftp.stat(path, signal)),
    canonical ?? orStatus(sftp.realpath(path, signal)),
  ])
  if (attributes instanceof SftpStatusError || typeof real !== 'string') return undefined
  return { canonical: real as RemotePath, stat: statOf(attributes) }
}

async function orStatus<T>(request: Promise<T>): Promise<T | SftpStatusError> {
  try {
    return await request
  } catch (error) {
    if (error instanceof SftpStatusError) return error
    throw error
  }
}
