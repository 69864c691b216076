/** Reading a small file that a configuration names: whatever it is, it holds nothing up. */
import { constants, open } from 'node:fs/promises'

export interface SmallFile {
  readonly text: string
  readonly mode: number
  readonly uid: number
}

/** The file is there, but is none that may be read as one. */
export class NoSmallFileError extends Error {}

/**
 * @param longest - bytes.
 * @throws NoSmallFileError for a folder, a FIFO, a device, or a longer file; the system's errors.
 */
export async function readSmallFile(path: string, longest: number): Promise<SmallFile> {
  // Opening a FIFO would wait for its other end.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new NoSmallFileError('it is no regular file')
    if (stats.size > longest) throw new NoSmallFileError('it is too long')
    return { text: await file.readFile('utf8'), mode: stats.mode, uid: stats.uid }
  } finally {
    await file.close()
  }
}
