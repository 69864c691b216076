/**
 * What the entries of watched folders are, in a few bytes: a folder's own times tell of names that came and went,
 * but not of an entry that changed in place. The helper shell sums up all folders in one question; without it the
 * folder is listed by SFTP. What lies deeper is not looked at, so the times of folders in it do not count.
 */
import { createHash } from 'node:crypto'
import type { RemotePath } from '../../../base/remote-path.ts'
import { quote } from '../../../base/shell-word.ts'
import { SftpStatusError } from '../../../ssh/errors.ts'
import type { SftpEntry } from '../../../ssh/channel/sftp.ts'
import type { MachineSession } from '../../session.ts'
import { isAbsent } from '../errors.ts'
import { typeOf } from '../stat.ts'
import { plainVersion } from '../versions.ts'
import { quietSftp } from './observe.ts'
import { withHelper } from './tokens.ts'

export type Contents =
  /** Sums by one teller alone can be compared. */
  | { readonly kind: 'sum'; readonly by: 'stat' | 'sftp'; readonly sum: string }
  | { readonly kind: 'refused'; readonly error: SftpStatusError }
  /** Nobody could tell, or the folder went away. */
  | { readonly kind: 'unknown' }

/** Larger folders are watched for names that come and go alone: a second's work for a slow machine. */
const MOST_ENTRIES = 8000
const LARGE = 'large'
const DENIED = 'denied'
/** A folder's own line is its device, inode and name: its size and times tell of what is in it. */
const WITHOUT_FOLDERS_TIMES = String.raw`sed 's/^\([0-9]*:[0-9]*\):[^ ]*:4[0-9a-fA-F]\{3\} /\1 /'`

/** In the order of `folders`. @throws as `observe`. */
export async function contentsOf(
  session: MachineSession,
  folders: readonly RemotePath[],
  signal?: AbortSignal,
): Promise<Contents[]> {
  if (folders.length === 0) return []
  const told = await sumsByShell(session, folders, signal)
  return Promise.all(
    folders.map(async (folder, index): Promise<Contents> => {
      const sum = told?.[index]
      // What the shell may not look at, SFTP may not either, and it gives the reason.
      if (sum === undefined || sum === DENIED) return sumBySftp(session, folder, signal)
      return sum === '' ? { kind: 'unknown' } : { kind: 'sum', by: 'stat', sum }
    }),
  )
}

/** True when both are known and say different things. */
export function contentsDiffer(before: Contents | undefined, now: Contents): boolean {
  return before?.kind === 'sum' && now.kind === 'sum' && before.by === now.by && before.sum !== now.sum
}

/** A line for each folder; undefined where no shell can be asked. */
async function sumsByShell(
  session: MachineSession,
  folders: readonly RemotePath[],
  signal: AbortSignal | undefined,
): Promise<string[] | undefined> {
  const name = session.shell?.stat === 'gnu' ? '%n' : '%N'
  const script = (format: string): string => {
    const entries = `stat -L ${format} ${name}' "$@" | ${WITHOUT_FOLDERS_TIMES} | cksum`
    const sum = `set -- ./* ./.[!.]* ./..?*; if [ $# -gt ${MOST_ENTRIES} ]; then echo ${LARGE}; else ${entries}; fi`
    const one = `cd -- "$d" && if [ -r . ]; then ${sum}; else echo ${DENIED}; fi || [ ! -d "$d" ] || echo ${DENIED}`
    return `for d in ${folders.map(quote).join(' ')}; do printf '%s\\n' "$(${one})"; done`
  }
  const answer = await withHelper(session, signal, (helper, format) => helper.run(script(format), { signal }))
  return answer?.output.toString('latin1').split('\n').slice(0, folders.length)
}

async function sumBySftp(
  session: MachineSession,
  folder: RemotePath,
  signal: AbortSignal | undefined,
): Promise<Contents> {
  try {
    const sftp = await quietSftp(session, signal)
    const handle = await sftp.openFolder(folder, signal)
    const lines: string[] = []
    try {
      for (;;) {
        const batch = await sftp.readFolder(handle, signal)
        if (batch === undefined) break
        for (const entry of batch) if (!isDot(entry.name)) lines.push(lineOf(entry))
        if (lines.length > MOST_ENTRIES) return { kind: 'sum', by: 'sftp', sum: LARGE }
      }
    } finally {
      sftp.close(handle).catch((_onlyTheHandleIsLost: unknown) => undefined)
    }
    const sum = createHash('sha1').update(lines.toSorted().join('\0')).digest('base64')
    return { kind: 'sum', by: 'sftp', sum }
  } catch (error) {
    if (isAbsent(error)) return { kind: 'unknown' }
    if (error instanceof SftpStatusError) return { kind: 'refused', error }
    throw error
  }
}

function isDot(name: string): boolean {
  return name === '.' || name === '..'
}

function lineOf({ name, attributes }: SftpEntry): string {
  return typeOf(attributes.mode) === 'directory' ? `${name}/` : `${name}\0${plainVersion(attributes)}`
}
