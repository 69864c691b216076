/** Why a change was not made, in the caller's terms, with the reason that the server's answer alone does not tell. */
import { PresenceError } from '../../../base/failure.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import type { MachineSession } from '../../session.ts'
import { FileError, asFileError } from '../errors.ts'
import type { Shown } from '../read.ts'
import { statPath } from '../stat.ts'
import { alreadyThere } from './change.ts'
import { AlreadyThereError } from './save.ts'
import { VolumeError } from './volume.ts'

const DANGLING = ': it is a link to something that does not exist; write to that, or remove the link'

interface Where {
  readonly machine: string
  session(signal: AbortSignal | undefined): Promise<MachineSession>
}

export async function explained(error: unknown, file: Shown, verb: string, where: Where): Promise<unknown> {
  const doing = `cannot ${verb} "${file.shown}"`
  if (error instanceof AlreadyThereError) {
    if (error.type === 'file') return alreadyThere(file)
    const dangling = await leadsNowhere(() => where.session(undefined), file.path)
    return new FileError(`${doing}: not a regular file${dangling ? DANGLING : ''}`, 'not-regular')
  }
  if (error instanceof VolumeError) {
    return new FileError(`${doing}: ${error.message}`, 'io', { machine: where.machine, cause: error })
  }
  return asFileError(error, doing)
}

/** For a path that is there by its name: a link to nothing. */
async function leadsNowhere(session: () => Promise<MachineSession>, path: RemotePath): Promise<boolean> {
  try {
    return (await statPath(await session(), path, true)) === undefined
  } catch (error) {
    // Then it is told without this.
    if (error instanceof PresenceError) return false
    throw error
  }
}
