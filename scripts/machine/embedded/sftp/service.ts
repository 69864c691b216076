/**
 * One SFTP session on a channel: requests are answered strictly one after the other, as OpenSSH's
 * server does it. What a request means is `requests.ts`.
 */
import type { ServerChannel } from 'ssh2'
import { ChannelOutput } from '../output.ts'
import { EXTENSIONS } from './extensions.ts'
import { OpenHandles } from './handles.ts'
import { answer } from './requests.ts'
import type { Session } from './session.ts'
import { Fields, MalformedPacketError, packet, PacketSplitter, string, TYPE, uint32 } from './wire.ts'

export interface SftpPlace {
  /** Where relative paths begin. */
  readonly home: string
  /** OpenSSH's clients send the two paths of a symlink request in the other order. */
  readonly openSshClient: boolean
}

const VERSION = 3

/** Serve until the client leaves. Never rejects: a client that breaks the protocol is cut off. */
export async function serveSftp(channel: ServerChannel, place: SftpPlace): Promise<void> {
  const session: Session = { ...place, handles: new OpenHandles() }
  const output = new ChannelOutput(channel)
  const splitter = new PacketSplitter()
  channel.on('error', (_clientLeft: unknown) => undefined)
  try {
    // Left open at its end: the exit status is still to be sent.
    for await (const chunk of channel.iterator({ destroyOnReturn: false })) {
      for (const request of splitter.push(chunk as Buffer))
        await output.send('stdout', await reply(session, request))
    }
  } catch (failure) {
    if (!(failure instanceof MalformedPacketError))
      console.error('presence: embedded machine, SFTP:', failure)
  } finally {
    await session.handles.closeAll()
    channel.exit(0)
    channel.end()
  }
}

async function reply(session: Session, request: Buffer): Promise<Buffer> {
  const fields = new Fields(request)
  const type = fields.byte()
  if (type === TYPE.init) {
    const announced = [...EXTENSIONS].flatMap(([name, { version }]) => [string(name), string(version)])
    return packet(TYPE.version, uint32(VERSION), ...announced)
  }
  return answer(session, type, fields)
}
