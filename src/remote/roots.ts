/**
 * Whether a path means the same to SFTP and to commands. On some machines SFTP shows another tree than the
 * shell has (a chroot, a NAS that shows its shares alone): then a file that was read and a file that a
 * command writes are not the same, although they are spelled alike. Nothing is written to find out.
 */
import { PresenceError } from '../base/failure.ts'
import type { FileAttributes, SftpChannel } from '../ssh/channel/sftp.ts'
import { SftpStatusError } from '../ssh/errors.ts'
import type { Exec } from '../ssh/connection/link.ts'
import type { Roots, Shell } from './capabilities.ts'
import { startScript } from './shell/command-line.ts'
import { askMarked } from './shell/marked-answer.ts'
import { IDENTIFY } from './shell/scripts.ts'

/** A folder may change between two looks at it; one that is another differs each time. */
const LOOKS = 3

export async function compareRoots(
  exec: Exec,
  sftp: SftpChannel,
  shell: Shell,
  signal: AbortSignal | undefined,
): Promise<Roots> {
  try {
    const { home } = shell
    const folders = ['/', home]
    const starting = sftp.realpath('.', signal)
    const look = (): Promise<(FileAttributes | undefined)[]> =>
      Promise.all(folders.map((folder) => seen(sftp, folder, signal)))
    const [start, first] = await Promise.all([starting, look()])
    let bySftp = first
    // Without a `stat` there is no other evidence than the spelling.
    if (shell.stat === 'none') {
      return start === home ? { kind: 'same', start } : { kind: 'different', start, home }
    }
    let byShell: readonly string[] = shell.identities
    for (let looks = 1; ; looks += 1) {
      if (byShell.every((line, at) => isSame(bySftp[at], line, shell.stat))) return { kind: 'same', start }
      if (looks === LOOKS) break
      ;[bySftp, byShell] = await Promise.all([look(), identify(exec, shell, folders, signal)])
    }
    return { kind: 'different', start, home }
  } catch (error) {
    if (error instanceof PresenceError && error.family !== 'cancelled') return { kind: 'unknown' }
    throw error
  }
}

/** Undefined where SFTP shows no such folder. */
async function seen(
  sftp: SftpChannel,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<FileAttributes | undefined> {
  try {
    return await sftp.stat(folder, signal)
  } catch (error) {
    if (error instanceof SftpStatusError) return undefined
    throw error
  }
}

async function identify(
  exec: Exec,
  { stat, loginShell }: Shell,
  folders: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const start = (mark: string): ReturnType<typeof startScript> =>
    startScript(IDENTIFY, [mark, stat, ...folders], loginShell)
  const answer = await askMarked(exec, start, signal)
  return answer.kind === 'none' ? folders.map(() => '') : answer.lines
}

/** @param line - mode, owner, group and seconds, as the machine's `stat` prints them. */
export function isSame(by: FileAttributes | undefined, line: string, stat: Shell['stat']): boolean {
  const [mode = '', uid, gid, seconds] = line.split(' ')
  if (by === undefined || mode === '') return false
  return (
    by.mode === Number.parseInt(mode, stat === 'bsd' ? 8 : 16) &&
    by.uid === Number(uid) &&
    by.gid === Number(gid) &&
    by.mtime === Number(seconds)
  )
}
