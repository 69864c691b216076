/** What the requests of one SFTP session share: its open handles, and how a path in a request is meant. */
import type { OpenHandles } from './handles.ts'
import { STATUS, StatusError } from './status.ts'
import type { Fields } from './wire.ts'

export interface Session {
  readonly home: string
  readonly openSshClient: boolean
  readonly handles: OpenHandles
}

/** Answers one request; `id` is its first field, still as bytes, to be put into the answer. */
export type Request = (session: Session, id: Buffer, fields: Fields) => Promise<Buffer | undefined>

export function pathOf(session: Session, fields: Fields, whenEmpty?: string): Buffer {
  const path = fields.bytes()
  return absolute(session, path.length === 0 && whenEmpty !== undefined ? Buffer.from(whenEmpty) : path)
}

/** Joined as bytes and never folded: `..` behind a link means the link's target's parent. */
export function absolute(session: Session, path: Buffer): Buffer {
  if (path.length === 0) throw new StatusError(STATUS.noSuchFile)
  return path[0] === 0x2f ? path : Buffer.concat([Buffer.from(`${session.home}/`), path])
}
