/**
 * Version tokens: texts that differ whenever a file does, and compare for equality only.
 *
 * SFTP version 3 knows times in whole seconds and no inode, so where the machine runs commands the helper
 * shell's `stat` is asked for device, inode and nanoseconds. Without it the token is made of what SFTP
 * knows, and `ContentMemory` covers what that cannot see. One file has one token, whoever asks for it.
 */
import { textOfBytes } from '../../base/name-bytes.ts'
import { quote } from '../../base/shell-word.ts'
import type { RemotePath } from '../../base/remote-path.ts'
import type { FileAttributes } from '../../ssh/channel/sftp.ts'
import type { MachineSession } from '../session.ts'
import { answerOf } from './by-shell/helper-answer.ts'

/** Device, inode, size, times of content and of everything else, type and mode: what both `stat`s can tell. */
const FORMATS = { gnu: `-c '%d:%i:%s:%.9Y:%.9Z:%f`, bsd: `-f '%d:%i:%z:%Fm:%Fc:%Xp` } as const
/** Entries of a folder whose tokens are asked for; a second's work for a slow machine. */
const MOST_LISTED = 8000
/** A line of a listing: the token, a space and the name. */
const LISTED = /^(\d+:\d+:\d+:[\d.:-]+:[\da-f]+) \.\/(.*)$/is

/** The token of what SFTP alone knows. */
export function plainVersion(attributes: FileAttributes): string {
  const { size, mtime, mode, uid, gid } = attributes
  return `s:${size}:${mtime}:${mode.toString(8)}:${uid}:${gid}`
}

/** True for tokens that tell any two states of a file apart. */
export function isExact(version: string): boolean {
  return version.startsWith('x')
}

/**
 * The exact token of one path, or undefined where the machine cannot tell or nothing is there.
 * @param follow - through a final symbolic link, or the link itself.
 */
export async function exactVersion(
  session: MachineSession,
  path: RemotePath,
  follow: boolean,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const format = formatOf(session)
  if (format === undefined) return undefined
  const word = quote(path)
  const there = follow ? `[ -e ${word} ]` : `[ -e ${word} ] || [ -h ${word} ]`
  const script = `{ ${there}; } && stat ${follow ? '-L ' : ''}${format}' -- ${word}`
  const answer = await answerOf(session, script, { signal })
  const token = answer?.output.toString('latin1').trim()
  return token === undefined || token === '' ? undefined : `x:${token}`
}

/**
 * The exact tokens of a folder's entries by their names, through links, in one question. One that is not told
 * has none: it went away, leads nowhere, or the folder is so large that asking would keep others waiting.
 * @returns undefined where the machine cannot tell.
 */
export async function exactVersionsIn(
  session: MachineSession,
  folder: RemotePath,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string> | undefined> {
  const format = formatOf(session)
  if (format === undefined) return undefined
  const name = session.shell?.stat === 'gnu' ? '%n' : '%N'
  const all = `set -- ./* ./.[!.]* ./..?* && [ $# -le ${MOST_LISTED} ]`
  const script = `(cd -- ${quote(folder)} && ${all} && stat -L ${format} ${name}' "$@")`
  const answer = await answerOf(session, script, { signal })
  return answer === undefined ? undefined : parseListed(textOfBytes(answer.output))
}

/** Names may hold line ends, so a line that does not begin with a token belongs to the name before. */
function parseListed(text: string): Map<string, string> {
  const found = new Map<string, string>()
  const twice = new Set<string>()
  let token: string | undefined
  let name = ''
  const keep = (): void => {
    if (token === undefined) return
    // A name that is made to look like two lines must not lend its token to another.
    if (found.has(name)) twice.add(name)
    found.set(name, `x:${token}`)
  }
  for (const line of text.split('\n').slice(0, -1)) {
    const [, begins, rest] = LISTED.exec(line) ?? []
    if (begins === undefined || rest === undefined) {
      name = `${name}\n${line}`
      continue
    }
    keep()
    ;[token, name] = [begins, rest]
  }
  keep()
  for (const doubtful of twice) found.delete(doubtful)
  return found
}

/** `stat`'s option for a token, its quotation mark still open for what may follow; undefined where it cannot tell. */
export function formatOf(session: MachineSession): string | undefined {
  const flavour = session.shell?.stat
  return flavour === 'gnu' || flavour === 'bsd' ? FORMATS[flavour] : undefined
}
