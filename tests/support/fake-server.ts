/**
 * An SSH server inside this process that breaks where it is told to, for what no honest server does. It lets
 * everybody in, runs commands in its `home` and serves files there; besides:
 *
 * - `breaking = { at, by }`: connections end with a reset, at their end of file, with SSH's own farewell
 *   (`disconnect`), or in silence, at a chosen packet.
 *   With `at: 'sftp-request'`, `request` counts them over one SFTP session, the first being 1 (the question
 *   for the version is none). It holds until it is set to undefined.
 * - `judge = (request) => …`: any status instead of an answer, an answer that comes late, or none at all.
 * - `offers` and `alter`: which of OpenSSH's extensions it has, and what it makes of a request before it obeys.
 * - `runsCommands`: false for a server of files alone.
 * - `handle`: the numbers of its handles.
 * - `ident`, `greeting` and `banner`: what it calls itself, and what it says before that and before authentication.
 *
 * Connect to it as to any rig machine: it is one.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { userInfo } from 'node:os'
import ssh2, { type Connection, type ServerChannel, type Session } from 'ssh2'
import { Command } from '../../scripts/machine/embedded/command.ts'
import { OpenHandles } from '../../scripts/machine/embedded/sftp/handles.ts'
import { EXTENSIONS } from '../../scripts/machine/embedded/sftp/extensions.ts'
import { answer } from '../../scripts/machine/embedded/sftp/requests.ts'
import { STATUS, statusPacket, type Status } from '../../scripts/machine/embedded/sftp/status.ts'
import {
  Fields,
  packet,
  PacketSplitter,
  string,
  TYPE,
  uint32,
} from '../../scripts/machine/embedded/sftp/wire.ts'
import { witnessOf } from '../../scripts/machine/independent.ts'
import { layOut, sessionEnvironment, writeClientFiles } from '../../scripts/machine/layout.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'

/** In the order in which a connection comes by them. */
export const PLACES = [
  /** The client has said who it is. */
  'banner',
  /** Its proposal of algorithms is there. */
  'key-exchange',
  /** It has taken the new keys into use. */
  'new-keys',
  'auth',
  'channel',
  'command',
  'sftp-version',
  'sftp-request',
] as const
export type Place = (typeof PLACES)[number]

export interface Break {
  readonly at: Place
  readonly by: 'reset' | 'end' | 'disconnect' | 'silence'
  readonly request?: number
}

export interface SftpRequest {
  readonly name: keyof typeof TYPE | 'unknown'
  /** The first of its session is 1. */
  readonly index: number
}

/** `late`: milliseconds; other requests are answered meanwhile. */
export type Verdict =
  'answer' | 'never' | { readonly status: Status } | { readonly late: number } | { readonly bytes: Buffer }

export interface FakeServer extends DemoMachine {
  breaking: Break | undefined
  judge: (request: SftpRequest) => Verdict
  /** Whether it has an extension of this name; asked when SFTP starts and when one is used. */
  offers: (extension: string) => boolean
  /** A request as the server understands it. */
  alter: (request: Buffer) => Buffer
  runsCommands: boolean
  /** The number of what is opened next, of those that were closed or another; undefined: a new one. */
  handle: (closed: readonly number[]) => number | undefined
  /** What follows `SSH-2.0-` in its identification. */
  ident: string
  greeting: string
  banner: string
  /** Connections that were made so far. */
  readonly made: number
  /** Connections that are open now. */
  readonly connections: number
}

/** Message numbers of RFC 4253, section 12. */
const KEXINIT = 20
const NEWKEYS = 21

export async function startFakeServer(): Promise<FakeServer> {
  const folder = mkdtempSync('/var/tmp/presence-fake-')
  const layout = await layOut({ folder })
  const user = userInfo().username
  const env = { USER: user, LOGNAME: user, SHELL: '/bin/sh', ...sessionEnvironment(layout) }
  const open = new Set<Socket>()
  const commands = new Set<Command>()
  let made = 0

  const server = createServer({ noDelay: true }, (socket) => {
    made += 1
    open.add(socket)
    socket.on('error', (_cut) => undefined)
    socket.on('close', () => open.delete(socket))
    let connection: Connection | undefined
    const broke = (at: Place, request?: number): boolean => {
      const { breaking } = fake
      if (breaking?.at !== at || breaking.request !== request) return false
      if (breaking.by === 'disconnect') connection?.end()
      else breakOff(socket, breaking.by)
      return true
    }
    watchHandshake(socket, broke)
    const { ident, greeting, banner } = fake
    const hostKeys = [layout.hostKey.privateKey]
    new ssh2.Server({ hostKeys, ident, greeting, banner }, (client: Connection) => {
      connection = client
      client.on('error', (_cut) => undefined)
      client.on('authentication', (attempt) => {
        if (!broke('auth')) attempt.accept()
      })
      client.on('session', (accept) => {
        if (!broke('channel')) serve(accept(), broke)
      })
    }).injectSocket(socket)
  })

  const serve = (session: Session, broke: (at: Place, request?: number) => boolean): void => {
    session.on('exec', (accept, reject, { command }) => {
      if (broke('command')) return
      if (!fake.runsCommands) return reject()
      const running = new Command(accept(), command, { cwd: layout.home, env })
      commands.add(running)
      void running.gone.then(() => commands.delete(running))
    })
    session.on('subsystem', (accept) => serveFiles(accept(), broke))
  }

  /** An extension that it does not have. */
  const isMissing = (request: Buffer): boolean => {
    const fields = new Fields(request)
    if (fields.byte() !== TYPE.extended) return false
    fields.uint32()
    return !fake.offers(fields.text())
  }

  const serveFiles = (channel: ServerChannel, broke: (at: Place, request?: number) => boolean): void => {
    const handles = new OpenHandles((closed) => fake.handle(closed))
    const session = { home: layout.home, openSshClient: false, handles }
    const splitter = new PacketSplitter()
    let count = 0
    let last = Promise.resolve()
    const respond = async (asked: Buffer): Promise<void> => {
      const request = fake.alter(asked)
      const fields = new Fields(request)
      const type = fields.byte()
      if (type === TYPE.init) {
        if (broke('sftp-version')) return
        const announced = [...EXTENSIONS]
          .filter(([name]) => fake.offers(name))
          .flatMap(([name, { version }]) => [string(name), string(version)])
        channel.write(packet(TYPE.version, uint32(3), ...announced))
        return
      }
      count += 1
      if (broke('sftp-request', count)) return
      const judged = fake.judge({ name: nameOf(type), index: count })
      const verdict = isMissing(request) ? { status: STATUS.unsupported } : judged
      if (verdict === 'never') return
      if (verdict === 'answer') channel.write(await answer(session, type, fields))
      else if ('bytes' in verdict) channel.write(verdict.bytes)
      else if ('status' in verdict) channel.write(statusPacket(uint32(fields.uint32()), verdict.status))
      else {
        const answered = await answer(session, type, fields)
        setTimeout(() => channel.write(answered), verdict.late)
      }
    }
    channel.on('error', (_clientLeft: unknown) => undefined)
    channel.on('data', (chunk: Buffer) => {
      for (const request of splitter.push(chunk)) last = last.then(() => respond(request))
    })
    channel.on('close', () => void last.then(() => session.handles.closeAll()))
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await writeClientFiles(layout, port, user)
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy()
  }
  const login = {
    alias: layout.alias,
    host: '127.0.0.1',
    port,
    user,
    identityFile: layout.userKey.privateFile,
    knownHostsFile: layout.knownHostsFile,
    sshConfigFile: layout.sshConfigFile,
  }
  const witness = witnessOf(login)
  const fake: FakeServer = {
    ...login,
    kind: 'embedded',
    home: layout.home,
    breaking: undefined,
    judge: () => 'answer',
    offers: () => true,
    alter: (request) => request,
    runsCommands: true,
    handle: () => undefined,
    ident: 'PresenceFake',
    greeting: '',
    banner: '',
    get made() {
      return made
    },
    get connections() {
      return open.size
    },
    run: (command) => witness.run(command),
    restart: async () => cut(),
    stop: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
      await Promise.all([...commands].map((command) => command.end()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return fake
}

function breakOff(socket: Socket, by: Exclude<Break['by'], 'disconnect'>): void {
  if (by === 'reset') socket.resetAndDestroy()
  else if (by === 'end') socket.end()
  // Whatever the server goes on to say is heard by nobody.
  socket.write = () => true
}

/** Follow what the client says in the clear: its identification, and the packets up to its new keys. */
function watchHandshake(socket: Socket, broke: (at: Place) => boolean): void {
  let heard = Buffer.alloc(0)
  let identified = false
  const read = (chunk: Buffer): void => {
    heard = Buffer.concat([heard, chunk])
    if (!identified) {
      const end = heard.indexOf(0x0a)
      if (end < 0) return
      identified = true
      heard = heard.subarray(end + 1)
      if (broke('banner')) return
    }
    while (heard.length >= 6 && heard.length >= 4 + heard.readUInt32BE(0)) {
      const type = heard.readUInt8(5)
      heard = heard.subarray(4 + heard.readUInt32BE(0))
      if (type === KEXINIT && broke('key-exchange')) return
      if (type !== NEWKEYS) continue
      socket.off('data', read)
      broke('new-keys')
      return
    }
  }
  socket.on('data', read)
}

function nameOf(type: number): SftpRequest['name'] {
  const found = Object.entries(TYPE).find(([, value]) => value === type)
  return found === undefined ? 'unknown' : (found[0] as keyof typeof TYPE)
}
