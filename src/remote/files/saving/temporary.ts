/**
 * Writing the temporary file of a save: its content, and what it takes over from the file that it is to
 * replace. Putting it in place is not done here: a server that refuses one request goes on with the next, so
 * nothing may be published before every answer is there.
 */
import { randomBytes } from 'node:crypto'
import { PresenceError } from '../../../base/failure.ts'
import { childOf, nameOf, parentOf, type RemotePath } from '../../../base/remote-path.ts'
import type { FileAttributes, SftpChannel, SftpHandle } from '../../../ssh/channel/sftp.ts'
import { SftpStatusError } from '../../../ssh/errors.ts'
import type { MachineSession } from '../../session.ts'
import type { Content } from './content.ts'
import { takeLane, type Lane } from '../transfer/lane.ts'
import { outgoing } from '../transfer/outgoing.ts'

/** Longest name on common file systems, in bytes. */
const LONGEST_NAME = 255

/** For its owner only, as long as it is not known who else may read it. */
export const PRIVATE = 0o600
const PERMISSIONS = 0o777

/** What a new file takes over from the one that it replaces. */
export interface Outfit {
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

/** A temporary file that is being made; it is private. */
export interface Begun {
  readonly lane: Promise<Lane>
  readonly handle: Promise<SftpHandle>
}

/** A name that nothing has, in the same folder, so that it can take the file's name in one step. */
export function temporaryBeside(path: RemotePath): RemotePath {
  const suffix = `.presence-${randomBytes(6).toString('hex')}`
  let stem = nameOf(path)
  while (Buffer.byteLength(`.${stem}${suffix}`) > LONGEST_NAME) stem = [...stem].slice(0, -1).join('')
  return childOf(parentOf(path), `.${stem}${suffix}`)
}

/** Whose the files are that we make, as far as it was seen: the account's user id on the machine. */
const OWN = new WeakMap<MachineSession, number>()

/**
 * Make a file that must not exist yet, with this content. Two flights where the owner is no question: the file
 * is made; then content, permissions, disk and close.
 * @param outfit - what to take over; undefined: only its owner may read it.
 * @param begun - undefined: it is made here.
 * @throws SftpStatusError; LinkLostError; CancelledError. The file may be there then.
 */
export async function writeTemporary(
  session: MachineSession,
  path: RemotePath,
  content: Content,
  outfit: Outfit | undefined,
  signal: AbortSignal | undefined,
  begun?: Begun,
): Promise<void> {
  const wanted = (outfit?.mode ?? PRIVATE) & PERMISSIONS
  const lane = await (begun?.lane ?? takeLane(session, 'up', content.length, signal))
  const task: Task = { session, lane, path, content, outfit, wanted, signal }
  try {
    if (await write(task, PRIVATE, begun?.handle)) return
    // A server that cannot change permissions may still give them to a file that it makes.
    await lane.sftp.removeFile(path, signal)
    await write(task, wanted)
  } finally {
    lane.release()
  }
}

interface Task {
  readonly session: MachineSession
  readonly lane: Lane
  readonly path: RemotePath
  readonly content: Content
  readonly outfit: Outfit | undefined
  /** Permissions. */
  readonly wanted: number
  readonly signal: AbortSignal | undefined
}

/** @returns false when the file's permissions are not the wanted ones and could not be set. */
async function write(task: Task, first: number, begun?: Promise<SftpHandle>): Promise<boolean> {
  const { session, lane, path, outfit, wanted, signal } = task
  const making = begun ?? lane.sftp.createExclusively(path, first, signal)
  const handle = await making.catch(async (error: unknown) => {
    if (lane.apart && !(error instanceof SftpStatusError)) await removeBehind(lane.sftp, path)
    throw error
  })
  const own = OWN.get(session)
  const isSimple = outfit === undefined || own === 0 || own === outfit.uid
  const made = await (isSimple ? inOneFlight(task, handle) : inSteps(task, handle))
  if (made.attributes !== undefined && outfit === undefined) learn(session, made.attributes)
  const is = (made.attributes?.mode ?? 0) & PERMISSIONS
  return made.modeIsSet || is === wanted || first === wanted
}

interface Made {
  readonly modeIsSet: boolean
  /** As the server tells them afterwards, if it does. */
  readonly attributes: FileAttributes | undefined
}

/** The owner is given with a harmless request: it is ours already, or we may give files to everybody. */
async function inOneFlight(task: Task, handle: SftpHandle): Promise<Made> {
  const { lane, content, outfit, wanted, signal } = task
  const { sftp } = lane
  return closing(sftp, handle, async (close) => {
    const { written } = await outgoing(lane, handle, content, signal)
    const [, modeIsSet, attributes] = await Promise.all([
      outfit === undefined ? undefined : allowed(sftp.setOwner(handle, outfit.uid, outfit.gid, signal)),
      allowed(sftp.setMode(handle, wanted, signal)),
      tell(sftp, handle, signal),
      syncWherePossible(sftp, handle, signal),
      close(),
      written,
    ])
    return { modeIsSet, attributes }
  })
}

/** The owner has to be seen first: what we may change depends on who we are. */
async function inSteps(task: Task, handle: SftpHandle): Promise<Made> {
  const { session, lane, content, outfit, wanted, signal } = task
  const { sftp } = lane
  return closing(sftp, handle, async (close) => {
    const { written } = await outgoing(lane, handle, content, signal)
    const [made] = await Promise.all([tell(sftp, handle, signal), written])
    if (made !== undefined) learn(session, made)
    if (outfit !== undefined) await keepOwner(sftp, handle, made, outfit, signal)
    const [modeIsSet] = await Promise.all([
      allowed(sftp.setMode(handle, wanted, signal)),
      syncWherePossible(sftp, handle, signal),
    ])
    await close()
    return { modeIsSet, attributes: made }
  })
}

/**
 * Errors of delayed writing come with the close: whoever uses a handle awaits it as the last of all.
 * @param use - is given the close, which is done without it when it fails before.
 */
async function closing<T>(
  sftp: SftpChannel,
  handle: SftpHandle,
  use: (close: () => Promise<void>) => Promise<T>,
): Promise<T> {
  let closed = false
  const close = (): Promise<void> => {
    closed = true
    return sftp.close(handle)
  }
  try {
    return await use(close)
  } finally {
    if (!closed) sftp.close(handle).catch((_theFileIsRemoved: unknown) => undefined)
  }
}

/** To be asked behind the making of a file, in the same flight. What cannot be learnt is asked for later. */
export async function learnOwner(
  session: MachineSession,
  sftp: SftpChannel,
  made: RemotePath,
): Promise<void> {
  if (OWN.has(session)) return
  try {
    learn(session, await sftp.lstat(made))
  } catch (error) {
    if (!(error instanceof PresenceError)) throw error
  }
}

/** A server that tells nothing of its files tells no owner either. */
function learn(session: MachineSession, { mode, uid }: FileAttributes): void {
  if (mode !== 0) OWN.set(session, uid)
}

/**
 * A file whose making has no answer yet may be made after it was removed by way of another channel. Only on
 * this one a removal surely comes behind; the save removes the file once more, and later if that is impossible.
 */
async function removeBehind(sftp: SftpChannel, path: RemotePath): Promise<void> {
  try {
    await sftp.removeFile(path)
  } catch (error) {
    if (!(error instanceof PresenceError)) throw error
  }
}

/** As far as we may: all of it as root, otherwise a group that we are in. */
async function keepOwner(
  sftp: SftpChannel,
  handle: SftpHandle,
  made: FileAttributes | undefined,
  { uid, gid }: Outfit,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (made?.uid === uid && made.gid === gid) return
  if ((await allowed(sftp.setOwner(handle, uid, gid, signal))) || made === undefined) return
  if (made.gid !== gid && made.uid !== uid) await allowed(sftp.setOwner(handle, made.uid, gid, signal))
}

/** Whether the server did it; what it may not or cannot do is no failure of the save. */
async function allowed(request: Promise<void>): Promise<boolean> {
  try {
    await request
    return true
  } catch (error) {
    if (error instanceof SftpStatusError) return false
    throw error
  }
}

async function tell(
  sftp: SftpChannel,
  handle: SftpHandle,
  signal: AbortSignal | undefined,
): Promise<FileAttributes | undefined> {
  try {
    return await sftp.fstat(handle, signal)
  } catch (error) {
    if (error instanceof SftpStatusError) return undefined
    throw error
  }
}

async function syncWherePossible(
  sftp: SftpChannel,
  handle: SftpHandle,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await sftp.fsync(handle, signal)
  } catch (error) {
    if (!(error instanceof SftpStatusError) || error.status !== 'unsupported') throw error
  }
}
