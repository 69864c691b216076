/**
 * All that a caller will want to know of a path, in one question to the helper shell: where it really is,
 * what it is, and what it holds, a file or a folder. Only for what is in order; everything else is for SFTP to find out.
 */
import { nameOf, parentOf, type RemotePath } from '../../../base/remote-path.ts'
import { textOfBytes } from '../../../base/name-bytes.ts'
import { quote } from '../../../base/shell-word.ts'
import { LOOKED } from '../../shell/file-functions.ts'
import type { MachineSession } from '../../session.ts'
import { answerOf } from './helper-answer.ts'
import { parseListing } from './list-by-shell.ts'
import type { LookSize } from './look-size.ts'
import type { ListedEntry } from '../listed-entry.ts'
import { parseShellStat } from './shell-stat.ts'
import type { FileStat } from '../stat.ts'

/** Longest name that common file systems take, in bytes; what a longer one is, a server says better. */
const LONGEST_NAME = 255

export interface Look {
  /** As `canonicalPath` has it. */
  readonly canonical: RemotePath
  /** Through links; undefined when nothing is there. */
  readonly stat: FileStat | undefined
  /** The whole content, where it was asked for, is a regular file's and not larger than asked. */
  readonly content: Buffer | undefined
  /** What is in it, where content was asked for and it is a folder. */
  readonly listing?: readonly ListedEntry[] | undefined
}

/**
 * @param size - how much of a content is wanted; it learns from the answer.
 * @returns undefined when the helper cannot tell.
 * @throws CancelledError.
 */
export async function lookByShell(
  session: MachineSession,
  path: RemotePath,
  size: LookSize,
  signal?: AbortSignal,
): Promise<Look | undefined> {
  const contentBytes = size.bytes
  const name = nameOf(path)
  if (name === '' || Buffer.byteLength(name) > LONGEST_NAME) return undefined
  const words = `p=${quote(path)} d=${quote(parentOf(path))} n=${quote(name)} b=${contentBytes}`
  const asked = performance.now()
  const answer = await answerOf(session, `${words}; look`, { signal })
  if (answer === undefined) return undefined
  size.note(answer.output.length, performance.now() - asked, session.roundTripMs)
  const { status, output } = answer
  const end = output.indexOf(0)
  if (end < 0) return undefined
  const canonical = textOfBytes(output.subarray(0, end)) as RemotePath
  if (status === LOOKED.absent) return { canonical, stat: undefined, content: undefined }
  const line = output.indexOf(0x0a, end)
  const stat = line < 0 ? undefined : parseShellStat(output.toString('latin1', end + 1, line))
  if (stat === undefined) return undefined
  if (status === LOOKED.without) return { canonical, stat, content: undefined }
  if (status === LOOKED.withListing) {
    const listing = parseListing(canonical, output.subarray(line + 1))
    return { canonical, stat, content: undefined, listing }
  }
  if (status !== LOOKED.withContent) return undefined
  const content = output.subarray(line + 1)
  // One more byte is asked for than wanted: then it is not the whole. Kernel files say 0 and hold text.
  const whole = content.length <= contentBytes && content.length >= stat.size
  return { canonical, stat, content: whole ? Buffer.from(content) : undefined }
}
