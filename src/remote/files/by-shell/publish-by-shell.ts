/**
 * Putting a new content in place by one question to the helper shell: guard, content, fsync and the exchange of
 * names happen there, one right after the other. Only for the common case (see `publish` in
 * `file-functions.ts`); when it is another, nothing has been changed.
 */
import { nameOf, parentOf, type RemotePath } from '../../../base/remote-path.ts'
import { quote } from '../../../base/shell-word.ts'
import { PUBLISHED } from '../../shell/file-functions.ts'
import type { MachineSession } from '../../session.ts'
import { isExact } from '../versions.ts'
import type { Leftovers } from '../saving/leftovers.ts'
import { parseShellStat } from './shell-stat.ts'
import type { FileStat } from '../stat.ts'
import { temporaryBeside } from '../saving/temporary.ts'

/** A helper answers one question after the other: a larger content would keep the others waiting. */
export const LARGEST_BY_SHELL = 512 * 1024

const PRIVATE = 0o600
const EXECUTABLE = 0o111
const SPECIAL = 0o7000

export interface ShellPublication {
  /** Canonical: it is not published when a folder above has become a link. */
  readonly path: RemotePath
  readonly content: Buffer
  /** What must be there: a file in exactly this state, or nothing. */
  readonly expected: FileStat | undefined
}

/**
 * @returns what is published, or undefined when nothing is and nothing is changed.
 * @throws LinkLostError with `outcomeUnknown`.
 */
export async function publishByShell(
  session: MachineSession,
  { path, content, expected }: ShellPublication,
  leftovers: Leftovers,
): Promise<FileStat | undefined> {
  const name = nameOf(path)
  if (name === '' || content.length === 0 || content.length > LARGEST_BY_SHELL) return undefined
  if (expected !== undefined && !isOrdinary(expected)) return undefined
  const helper = await session.fileHelper()
  if (helper === undefined) return undefined
  const temporary = temporaryBeside(path)
  const wanted = expected?.mode ?? PRIVATE
  const direct = canBeMadeSo(wanted)
  const words = Object.entries({
    d: parentOf(path),
    n: name,
    t: nameOf(temporary),
    b: String(content.length),
    u: (direct ? 0o777 & ~wanted : 0o777 & ~PRIVATE).toString(8).padStart(3, '0'),
    c: direct ? '' : wanted.toString(8),
    e: expected === undefined ? '-' : expected.version.slice('x:'.length),
  }).map(([variable, value]) => `${variable}=${quote(value)}`)
  const left = leftovers.expect(session, temporary, undefined)
  try {
    const { status, output } = await helper.run(`${words.join(' ')}; publish`, { content, changes: true })
    left.forget()
    if (status !== PUBLISHED) return undefined
    return parseShellStat(output.toString('latin1').trimEnd()) ?? unseen(path, content, wanted)
  } catch (error) {
    await left.settle()
    throw error
  }
}

function isOrdinary({ type, mode, version }: FileStat): boolean {
  return type === 'file' && isExact(version) && (mode & SPECIAL) === 0
}

/**
 * True when a file can have this mode from its creation: a shell makes none that can be run, and before the
 * group is known to be the right one nobody may read by it what others may not.
 */
function canBeMadeSo(mode: number): boolean {
  const [group, others] = [(mode >> 3) & 7, mode & 7]
  return (mode & EXECUTABLE) === 0 && (group & ~others) === 0
}

/** Published, and gone or changed before it could be looked at. */
function unseen(path: RemotePath, content: Buffer, mode: number): FileStat {
  const version = `unseen:${path}:${performance.now()}`
  return { type: 'file', size: content.length, mode, uid: -1, gid: -1, version }
}
