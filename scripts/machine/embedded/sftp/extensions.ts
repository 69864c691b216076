/** The requests that OpenSSH added to SFTP version 3 and that the rig serves too. */
import { link, rename } from 'node:fs/promises'
import { pathOf, type Request } from './session.ts'
import { spaceOf } from './space.ts'
import { MAX_DATA, MAX_PACKET, packet, TYPE, uint64 } from './wire.ts'

interface Extension {
  readonly version: string
  readonly request: Request
}

/** OpenSSH's PROTOCOL file, section 4; announced to the client and answered by name. */
export const EXTENSIONS: ReadonlyMap<string, Extension> = new Map<string, Extension>(
  Object.entries({
    'posix-rename@openssh.com': {
      version: '1',
      request: async (session, _id, fields) => {
        await rename(pathOf(session, fields), pathOf(session, fields))
        return undefined
      },
    },
    'statvfs@openssh.com': {
      version: '2',
      request: async (session, id, fields) =>
        packet(TYPE.extendedReply, id, await spaceOf(pathOf(session, fields))),
    },
    'hardlink@openssh.com': {
      version: '1',
      request: async (session, _id, fields) => {
        await link(pathOf(session, fields), pathOf(session, fields))
        return undefined
      },
    },
    'fsync@openssh.com': {
      version: '1',
      request: async (session, _id, fields) => {
        await session.handles.file(fields.bytes()).sync()
        return undefined
      },
    },
    'limits@openssh.com': {
      version: '1',
      request: (_session, id) => {
        const limits = [MAX_PACKET, MAX_DATA, MAX_DATA, 0].map(uint64)
        return Promise.resolve(packet(TYPE.extendedReply, id, ...limits))
      },
    },
  }),
)
