/**
 * What every SFTP request means on this computer's file system, with the outcomes OpenSSH's server
 * gives. One entry a request; the tables at the end say which number is which.
 */
import { constants, type Stats } from 'node:fs'
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rmdir,
  stat,
  symlink,
  truncate,
  unlink,
  utimes,
} from 'node:fs/promises'
import { EXTENSIONS } from './extensions.ts'
import { longName } from './long-name.ts'
import { resolvePath } from './resolve-path.ts'
import { absolute, pathOf, type Request, type Session } from './session.ts'
import { setAttributes } from './set-attributes.ts'
import { STATUS, StatusError, statusOf, statusPacket } from './status.ts'
import {
  attributesOf,
  Fields,
  MalformedPacketError,
  MAX_DATA,
  NO_ATTRIBUTES,
  packet,
  string,
  TYPE,
  uint32,
} from './wire.ts'

/** The answer to a request; one that gives nothing to send has succeeded. */
export async function answer(session: Session, type: number, fields: Fields): Promise<Buffer> {
  const id = uint32(fields.uint32())
  try {
    const request = REQUESTS[type]
    if (request === undefined) throw new StatusError(STATUS.unsupported)
    return (await request(session, id, fields)) ?? statusPacket(id, STATUS.ok)
  } catch (failure) {
    if (failure instanceof MalformedPacketError) throw failure
    return statusPacket(id, statusOf(failure))
  }
}

/** Bits of an open request (draft-ietf-secsh-filexfer-02, section 6.3). */
const OPEN = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const

/** Entries in one answer to a readdir request, as OpenSSH has it. */
const LISTED_AT_ONCE = 100

const openFile: Request = async (session, id, fields) => {
  const path = pathOf(session, fields)
  const wanted = fields.uint32()
  const { mode = 0o666 } = fields.attributes()
  const file = await open(path, openFlags(wanted), mode)
  return handlePacket(id, session.handles.add({ kind: 'file', file }))
}

const close: Request = async (session, _id, fields) => {
  await session.handles.close(fields.bytes())
  return undefined
}

const read: Request = async (session, id, fields) => {
  const file = session.handles.file(fields.bytes())
  const position = fields.uint64()
  const buffer = Buffer.alloc(Math.min(fields.uint32(), MAX_DATA))
  const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
  if (bytesRead === 0) throw new StatusError(STATUS.eof)
  return packet(TYPE.data, id, string(buffer.subarray(0, bytesRead)))
}

const write: Request = async (session, _id, fields) => {
  const file = session.handles.file(fields.bytes())
  const position = fields.uint64()
  const data = fields.bytes()
  for (let done = 0; done < data.length;) {
    done += (await file.write(data, done, data.length - done, position + done)).bytesWritten
  }
  return undefined
}

const statPath: Request = async (session, id, fields) =>
  attributesPacket(id, await stat(pathOf(session, fields)))

const lstatPath: Request = async (session, id, fields) =>
  attributesPacket(id, await lstat(pathOf(session, fields)))

const statHandle: Request = async (session, id, fields) =>
  attributesPacket(id, await session.handles.file(fields.bytes()).stat())

const setPath: Request = async (session, _id, fields) => {
  const path = pathOf(session, fields)
  await setAttributes(fields.attributes(), {
    size: (size) => truncate(path, size),
    mode: (mode) => chmod(path, mode),
    times: (atime, mtime) => utimes(path, atime, mtime),
    owner: (uid, gid) => chown(path, uid, gid),
  })
  return undefined
}

const setHandle: Request = async (session, _id, fields) => {
  const file = session.handles.file(fields.bytes())
  await setAttributes(fields.attributes(), {
    size: (size) => file.truncate(size),
    mode: (mode) => file.chmod(mode),
    times: (atime, mtime) => file.utimes(atime, mtime),
    owner: (uid, gid) => file.chown(uid, gid),
  })
  return undefined
}

const openFolder: Request = async (session, id, fields) => {
  const path = pathOf(session, fields)
  const names = await readdir(path, { encoding: 'buffer' })
  const all = [Buffer.from('.'), Buffer.from('..'), ...names]
  return handlePacket(id, session.handles.add({ kind: 'folder', path, names: all }))
}

const readFolder: Request = async (session, id, fields) => {
  const { path, names } = session.handles.folder(fields.bytes())
  const entries: Buffer[] = []
  while (entries.length < LISTED_AT_ONCE && names.length > 0) {
    for (const name of names.splice(0, LISTED_AT_ONCE - entries.length)) {
      const entry = await describe(Buffer.concat([path, Buffer.from('/'), name]), name)
      if (entry !== undefined) entries.push(entry)
    }
  }
  if (entries.length === 0) throw new StatusError(STATUS.eof)
  return packet(TYPE.name, id, uint32(entries.length), ...entries)
}

const remove: Request = async (session, _id, fields) => {
  await unlink(pathOf(session, fields))
  return undefined
}

const makeFolder: Request = async (session, _id, fields) => {
  const path = pathOf(session, fields)
  const { mode = 0o777 } = fields.attributes()
  await mkdir(path, { mode })
  return undefined
}

const removeFolder: Request = async (session, _id, fields) => {
  await rmdir(pathOf(session, fields))
  return undefined
}

const realPath: Request = async (session, id, fields) => {
  const resolved = await resolvePath(pathOf(session, fields, '.'))
  return packet(TYPE.name, id, uint32(1), string(resolved), string(resolved), NO_ATTRIBUTES)
}

/** Version 3's rename never replaces; the extension `posix-rename` does. */
const renameWithoutReplacing: Request = async (session, _id, fields) => {
  const [from, to] = [pathOf(session, fields), pathOf(session, fields)]
  if ((await lstat(from)).isFile()) {
    // Linking fails where something is, in one step; renaming after a look would leave a gap.
    await link(from, to)
    await unlink(from)
    return undefined
  }
  // Whatever keeps us from seeing something there will keep the renaming from it as well.
  const occupant = await stat(to).catch((_unseen: unknown) => undefined)
  if (occupant !== undefined) throw new StatusError(STATUS.failure)
  await rename(from, to)
  return undefined
}

const readLink: Request = async (session, id, fields) => {
  const target = await readlink(pathOf(session, fields), { encoding: 'buffer' })
  return packet(TYPE.name, id, uint32(1), string(target), string(target), NO_ATTRIBUTES)
}

const makeLink: Request = async (session, _id, fields) => {
  const [first, second] = [fields.bytes(), fields.bytes()]
  const [linkPath, target] = session.openSshClient ? [second, first] : [first, second]
  await symlink(target, absolute(session, linkPath))
  return undefined
}

const extended: Request = (session, id, fields) => {
  const extension = EXTENSIONS.get(fields.text())
  if (extension === undefined) throw new StatusError(STATUS.unsupported)
  return extension.request(session, id, fields)
}

const REQUESTS: Readonly<Record<number, Request>> = {
  [TYPE.open]: openFile,
  [TYPE.close]: close,
  [TYPE.read]: read,
  [TYPE.write]: write,
  [TYPE.lstat]: lstatPath,
  [TYPE.fstat]: statHandle,
  [TYPE.setstat]: setPath,
  [TYPE.fsetstat]: setHandle,
  [TYPE.opendir]: openFolder,
  [TYPE.readdir]: readFolder,
  [TYPE.remove]: remove,
  [TYPE.mkdir]: makeFolder,
  [TYPE.rmdir]: removeFolder,
  [TYPE.realpath]: realPath,
  [TYPE.stat]: statPath,
  [TYPE.rename]: renameWithoutReplacing,
  [TYPE.readlink]: readLink,
  [TYPE.symlink]: makeLink,
  [TYPE.extended]: extended,
}

function openFlags(wanted: number): number {
  const has = (bit: number): boolean => (wanted & bit) !== 0
  const access = has(OPEN.write)
    ? has(OPEN.read)
      ? constants.O_RDWR
      : constants.O_WRONLY
    : constants.O_RDONLY
  return (
    access |
    (has(OPEN.append) ? constants.O_APPEND : 0) |
    (has(OPEN.create) ? constants.O_CREAT : 0) |
    (has(OPEN.truncate) ? constants.O_TRUNC : 0) |
    (has(OPEN.exclusive) ? constants.O_EXCL : 0) |
    // Opening a FIFO would otherwise hold a thread of this process until somebody writes to it.
    constants.O_NONBLOCK |
    constants.O_NOCTTY
  )
}

/** Undefined for an entry that went away since the folder was read. */
async function describe(path: Buffer, name: Buffer): Promise<Buffer | undefined> {
  const entry = await lstat(path).catch((_wentAway: unknown) => undefined)
  return entry && Buffer.concat([string(name), string(longName(name, entry)), attributesOf(entry)])
}

function handlePacket(id: Buffer, handle: Buffer): Buffer {
  return packet(TYPE.handle, id, string(handle))
}

function attributesPacket(id: Buffer, found: Stats): Buffer {
  return packet(TYPE.attrs, id, attributesOf(found))
}
