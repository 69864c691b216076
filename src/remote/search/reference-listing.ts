/**
 * What lies below a folder, for `@` references: the whole tree in one question to the machine's `find`, or
 * folder by folder over SFTP where no command can be asked; and the children of one folder. Names only, links
 * are neither offered nor followed, and what cannot be listed is passed over, as the host does it.
 */
import { shownName } from '../../base/name-bytes.ts'
import { callerLeaves, diesWith, race } from '../../base/race.ts'
import { childOf, type RemotePath } from '../../base/remote-path.ts'
import type { SftpChannel } from '../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../ssh/errors.ts'
import { readEntries } from '../files/list.ts'
import { typeOf } from '../files/stat.ts'
import type { MachineSession } from '../session.ts'
import { startScript } from '../shell/command-line.ts'
import { MarkedStream, randomMark } from '../shell/marked.ts'
import { openScript } from '../shell/open-script.ts'
import { compareText, firstOfTree, type Candidate } from './rank.ts'

export interface ListingLimits {
  /** Entries that are kept, the nearest to the root first. */
  readonly maxEntries: number
  /** Folder names that are neither entered nor offered. */
  readonly excluded: ReadonlySet<string>
}

/** A listing that is longer, in bytes, or takes longer is cut off; nobody picks from a million names. */
const LONGEST_LISTING = 16 * 1024 * 1024
const LONGEST_MS = 30_000
const FOLDERS_AT_ONCE = 64
/** READDIR requests at first in flight for each of them: two hold a folder of a hundred entries. */
const BATCHES_AT_ONCE = 3
/** The kernel's own views of things, without end. */
const NOT_ON_DISK = ['proc', 'sys', 'dev']

/**
 * One `find`, below whatever else the machine does. $1 mark, $2 folder, then what is not to be entered.
 * Folders are told twice, which every `find` can do and needs the tree only once.
 */
export const NAMES_BELOW = `
m=$1 d=$2
shift 2
printf '%s\\n' "$m"
cd "$d" 2>/dev/null || exit 0
set -- find . "$@" -type d -print0 -print0 -o -type f -print0
if command -v nice >/dev/null 2>&1; then set -- nice -n 10 "$@"; fi
exec "$@" 2>/dev/null
`

/**
 * The tree below a folder, without it.
 * @param root - a folder, or a link to one.
 * @throws ChannelError, LinkLostError, CancelledError.
 */
export async function listTree(
  session: MachineSession,
  root: RemotePath,
  limits: ListingLimits,
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const { shell } = session
  const asked =
    shell === undefined || shell.find === 'none' ? undefined : await find(session, root, limits, signal)
  return asked ?? walk(await session.sftp(signal), root, limits, signal)
}

/**
 * The direct children of a folder below `root`, by their paths from there.
 * @param segments - names from `root` to the folder; a link among them offers nothing.
 * @param prefix - stands before each name.
 */
export async function childrenOf(
  session: MachineSession,
  root: RemotePath,
  segments: readonly string[],
  prefix: string,
  excluded: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Candidate[]> {
  const sftp = await session.sftp(signal)
  const above = segments.map((_segment, at) => segments.slice(0, at + 1).reduce(childOf, root))
  // All in one flight: most of what is asked for is there.
  const [children, ...folders] = await Promise.all([
    named(sftp, above.at(-1) ?? root, prefix, excluded, signal),
    ...above.map((path) => isFolder(sftp, path, signal)),
  ])
  return folders.includes(false) ? [] : children.map(({ candidate }) => candidate)
}

/** @returns undefined when the machine's shell did not come to it. */
async function find(
  session: MachineSession,
  root: RemotePath,
  { maxEntries, excluded }: ListingLimits,
  signal: AbortSignal,
): Promise<Candidate[] | undefined> {
  const mark = randomMark()
  const { loginShell } = session.requireShell()
  const start = startScript(NAMES_BELOW, [mark, root, ...notEntered(root, excluded)], loginShell)
  const channel = await openScript(session.exec, start, { signal })
  const chunks: Buffer[] = []
  const state = { begun: false, bytes: 0, cut: false }
  const cut = (): void => {
    state.cut = true
    channel.close()
  }
  const timer = setTimeout(cut, LONGEST_MS)
  const answer = new MarkedStream(
    mark,
    () => void (state.begun = true),
    (chunk) => {
      if (state.cut) return
      chunks.push(chunk)
      state.bytes += chunk.length
      if (state.bytes > LONGEST_LISTING) cut()
    },
  )
  channel.stdout.on('data', (chunk: Buffer) => answer.push(chunk))
  channel.stderr.resume()
  channel.stdin.end()
  try {
    await race(() => channel.closed, [...callerLeaves(signal, 'listing files'), diesWith(channel.owner.dead)])
  } finally {
    clearTimeout(timer)
    // What still runs there ends with its next name, which nobody reads.
    channel.close()
  }
  channel.owner.dead.throwIfAborted()
  return state.begun ? firstOfTree(parseNames(Buffer.concat(chunks), state.cut), maxEntries) : undefined
}

function notEntered(root: RemotePath, excluded: ReadonlySet<string>): string[] {
  const names = [...excluded].map((name) => ['-name', name.replace(/[\\*?[\]]/g, '\\$&')])
  const paths = root === '/' ? NOT_ON_DISK.map((name) => ['-path', `./${name}`]) : []
  const either = [...names, ...paths].flatMap((test, at) => (at === 0 ? test : ['-o', ...test]))
  return either.length === 0 ? [] : ['-type', 'd', '(', ...either, ')', '-prune', '-o']
}

/** @param cut - the end is missing. */
export function parseNames(output: Buffer, cut: boolean): Candidate[] {
  // As latin1 different bytes stay different, which decides what is told twice.
  const names = output.toString('latin1').split('\0')
  names.pop()
  const found: Candidate[] = []
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] ?? ''
    const isTwice = names[at + 1] === name
    if (isTwice) at += 1
    // Of the last one it is not known whether it would be told again.
    else if (cut && at === names.length - 1) break
    if (!name.startsWith('./')) continue
    found.push({ path: utf8(name.slice(2)), kind: isTwice ? 'directory' : 'file' })
  }
  return found
}

function utf8(latin1: string): string {
  return /[\u0080-\u00ff]/.test(latin1) ? Buffer.from(latin1, 'latin1').toString('utf8') : latin1
}

interface Named {
  readonly candidate: Candidate
  /** With the name's own bytes. */
  readonly path: RemotePath
}

/** Level by level, as many folders at once as pay. */
async function walk(
  sftp: SftpChannel,
  root: RemotePath,
  { maxEntries, excluded }: ListingLimits,
  signal: AbortSignal,
): Promise<Candidate[]> {
  const until = performance.now() + LONGEST_MS
  const found: Candidate[] = []
  let level: readonly Named[] = [{ candidate: { path: '', kind: 'directory' }, path: root }]
  while (level.length > 0 && found.length < maxEntries) {
    const next: Named[][] = level.map(() => [])
    const waiting = level.entries()
    let listed = 0
    const lane = async (): Promise<void> => {
      for (const [at, { candidate, path }] of waiting) {
        if (found.length + listed >= maxEntries || performance.now() > until) return
        const prefix = candidate.path === '' ? '' : `${candidate.path}/`
        const left = path === '/' ? new Set([...excluded, ...NOT_ON_DISK]) : excluded
        const children = await named(sftp, path, prefix, left, signal)
        next[at] = children
        listed += children.length
      }
    }
    await Promise.all(Array.from({ length: FOLDERS_AT_ONCE }, lane))
    const children = next.flat()
    for (const { candidate } of children) found.push(candidate)
    level = children.filter(({ candidate }) => candidate.kind === 'directory')
    if (performance.now() > until) break
  }
  return found.slice(0, maxEntries)
}

/** In order of name; nothing of a folder that cannot be listed. @throws LinkLostError, CancelledError. */
async function named(
  sftp: SftpChannel,
  folder: RemotePath,
  prefix: string,
  excluded: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Named[]> {
  const entries = await readEntries(sftp, folder, signal, BATCHES_AT_ONCE).catch((error: unknown) => {
    if (error instanceof SftpStatusError) return []
    throw error
  })
  const seen = await Promise.all(
    entries.map(async ({ name, attributes }): Promise<Named | undefined> => {
      const path = childOf(folder, name)
      // A server may leave out what an entry is.
      const mode = attributes.mode === 0 ? await modeOf(sftp, path, signal) : attributes.mode
      const kind = typeOf(mode)
      if (kind !== 'file' && kind !== 'directory') return undefined
      const shown = shownName(name)
      if (kind === 'directory' && excluded.has(shown)) return undefined
      return { candidate: { path: `${prefix}${shown}`, kind }, path }
    }),
  )
  return seen
    .filter((one) => one !== undefined)
    .toSorted((a, b) => compareText(a.candidate.path, b.candidate.path))
}

async function isFolder(sftp: SftpChannel, path: RemotePath, signal: AbortSignal): Promise<boolean> {
  return typeOf(await modeOf(sftp, path, signal)) === 'directory'
}

/** 0 for what cannot be looked at. */
async function modeOf(sftp: SftpChannel, path: RemotePath, signal: AbortSignal): Promise<number> {
  try {
    return (await sftp.lstat(path, signal)).mode
  } catch (error) {
    if (error instanceof SftpStatusError) return 0
    throw error
  }
}
