/** The content that a write replaces, where its guard or the diff needs it. */
import type { MachineSession } from '../../session.ts'
import { FileError, asFileError } from '../errors.ts'
import { WHOLE_FILE, readAll, type Shown } from '../read.ts'
import type { FileStat } from '../stat.ts'

/** @returns undefined when nobody may read it. */
export async function oldContent(
  session: MachineSession,
  file: Shown,
  existing: FileStat,
  signal: AbortSignal | undefined,
): Promise<Buffer | undefined> {
  try {
    return await readAll(session, file, existing.size, WHOLE_FILE, signal)
  } catch (error) {
    // A file that may be replaced but not read is still replaced; only the diff is missing then, and the
    // guard has the token alone, as it would have had for a reader who could not read.
    if (asFileError(error, '') instanceof FileError) return undefined
    throw error
  }
}
