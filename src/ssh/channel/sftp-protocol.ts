/**
 * Speaks SFTP version 3 over a channel that somebody else opened: ssh2's own protocol class, given a
 * stand-in for the connection that it would otherwise write to. The only file that knows this class,
 * which ssh2 does not export: it is looked at before it is used.
 */
import { createRequire } from 'node:module'
import type { SFTPWrapper } from 'ssh2'
import { BulkRequests } from './bulk-requests.ts'
import type { ExecChannel } from './exec.ts'
import { FromServer, toServer } from './name-bytes.ts'

/** What is used of ssh2's class beyond its public type. */
interface Protocol extends SFTPWrapper {
  /** Bytes from the server; null at their end, which fails every request without an answer. */
  push(chunk: Buffer | null): void
  /** Ask for the version; `ready` or `error` is emitted then. */
  _init(): void
}

/** What the class wants of a connection. */
interface StandIn {
  readonly _protocol: {
    /** The server's identification: some servers take the arguments of `symlink` in another order. */
    readonly _remoteIdentRaw: string
    channelData(id: number, data: Buffer): void
    channelClose(id: number): void
  }
}

/** One end of a channel as the class sees it. */
interface End {
  readonly id: number
  readonly window: number
  readonly packetSize: number
  readonly state: 'open'
}

type ProtocolClass = new (
  client: StandIn,
  channel: { readonly type: 'session'; readonly incoming: End; readonly outgoing: End },
  config: object,
) => Protocol

/** The channel itself keeps to the server's window; there is no second one to keep to. */
const UNBOUNDED: End = { id: 0, window: Infinity, packetSize: Infinity, state: 'open' }

/** What is larger is not worth copying. */
const LARGE_BYTES = 4096

const LIMITS = 'limits@openssh.com'
/** Of one request, where the server tells its limits; the answer has to fit into the 256 KiB that ssh2 takes. */
const LONGEST_KNOWN = 255 * 1024
/** draft-ietf-secsh-filexfer-02, section 3: packets of 34000 bytes are borne by all. */
const LONGEST_FOR_ALL = 32 * 1024

const USED = ['push', '_init', 'end', 'realpath', 'open', 'readdir'] as const

/** @throws when ssh2 is another one than the one this was written for. */
export function protocolClassOf(loaded: unknown): ProtocolClass {
  const found: unknown = typeof loaded === 'object' && loaded !== null && 'SFTP' in loaded && loaded.SFTP
  if (typeof found === 'function' && found.length === 3) {
    const methods = found.prototype as Readonly<Record<string, unknown>>
    if (USED.every((name) => typeof methods[name] === 'function')) return found as ProtocolClass
  }
  throw new Error('the SFTP class of this ssh2 is not the one that Presence knows (ssh2 1.17)')
}

const load = createRequire(import.meta.url)

/** The conversation on one channel, until the channel closes. */
export interface Conversation {
  readonly sftp: SFTPWrapper
  /** Reads and writes go past the library. */
  readonly bulk: BulkRequests
  /** The server's bytes; the first ones must be its answer to the question for its version. */
  receive(bytes: Buffer): void
  /** There is nothing more to come: every request without an answer fails. */
  finish(): void
  /** Ask for the version. @throws its first error. */
  begin(): Promise<Offer>
}

/** What a server says of itself when a conversation begins. */
export interface Offer {
  /** What it has beyond version 3. */
  readonly extensions: Extensions
  /** The most bytes that one read gives, and that one write takes. */
  readonly longest: { readonly read: number; readonly write: number }
  /** A read by a handle that it has not given will do it no harm, as far as is known. */
  readonly bearsGuesses: boolean
}

/** Names of extensions that a server announced, with its word for their version. */
export type Extensions = Readonly<Record<string, string>>

export function converse(channel: ExecChannel, ident: string): Conversation {
  const Protocol = protocolClassOf(load('ssh2/lib/protocol/SFTP.js') as unknown)
  const names = new FromServer()
  let finished = false
  const finish = (): void => {
    if (finished) return
    finished = true
    bulk.fail(new Error('No response from server'))
    sftp.push(null)
    sftp.emit('close')
  }
  const requests = new Burst((data) => void channel.stdin.write(data))
  const bulk = new BulkRequests((data) => requests.send(data))
  const standIn: StandIn = {
    _protocol: {
      _remoteIdentRaw: ident,
      channelData: (_id, data) => requests.send(toServer(data)),
      channelClose: () => {
        requests.flush()
        channel.close()
        // The caller may be about to fail a request with a better reason of its own.
        queueMicrotask(finish)
      },
    },
  }
  const sftp = new Protocol(
    standIn,
    { type: 'session', incoming: { ...UNBOUNDED }, outgoing: { ...UNBOUNDED } },
    {},
  )
  // Without a listener an error would end the process; whoever waits for an answer hears of it.
  sftp.on('error', (_seenByTheRequests: unknown) => undefined)
  return {
    sftp,
    bulk,
    receive: (bytes) => {
      if (finished) return
      try {
        for (const others of bulk.receive(bytes)) for (const piece of names.push(others)) sftp.push(piece)
      } catch (error) {
        // A packet that lies about its own length: nothing after it can be understood.
        sftp.emit('error', error)
        sftp.end()
      }
    },
    finish,
    begin: () =>
      new Promise((resolve, reject) => {
        sftp.once('ready', () => {
          const extensions = extensionsOf(sftp)
          const longest = longestOf(sftp, extensions)
          // dropbear ends connections for less; nothing out of the ordinary is asked of it.
          resolve({ extensions, longest, bearsGuesses: !/dropbear/i.test(ident) })
        })
        sftp.once('error', reject)
        sftp.once('close', () => reject(new Error('the server ended it')))
        sftp._init()
      }),
  }
}

/**
 * Requests that are made in one turn of the event loop, sent together: the transport encrypts and pads whatever
 * it is given in one go as one packet.
 */
class Burst {
  readonly #send: (data: Buffer) => void
  #gathered: Buffer[] = []

  constructor(send: (data: Buffer) => void) {
    this.#send = send
  }

  send(data: Buffer): void {
    if (data.length > LARGE_BYTES) {
      this.flush()
      this.#send(data)
      return
    }
    this.#gathered.push(data)
    if (this.#gathered.length === 1) process.nextTick(() => this.flush())
  }

  flush(): void {
    const gathered = this.#gathered
    this.#gathered = []
    if (gathered.length > 0) this.#send(Buffer.concat(gathered))
  }
}

/** The class keeps what the version packet held and offers no way to ask for it. */
export function extensionsOf(sftp: object): Extensions {
  const kept: unknown = '_extensions' in sftp ? sftp._extensions : undefined
  if (typeof kept !== 'object' || kept === null) return {}
  return Object.fromEntries(
    Object.entries(kept).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/**
 * As the server tells (`limits@openssh.com`), or what every server has to bear. ssh2 asks the question by
 * itself; what is longer than its own bounds it would do in steps, one after another.
 */
function longestOf(sftp: object, extensions: Extensions): Offer['longest'] {
  const most = LIMITS in extensions ? LONGEST_KNOWN : LONGEST_FOR_ALL
  const own = (kept: unknown): number => (typeof kept === 'number' ? Math.min(kept, most) : most)
  return {
    read: own('_maxReadLen' in sftp ? sftp._maxReadLen : undefined),
    write: own('_maxWriteLen' in sftp ? sftp._maxWriteLen : undefined),
  }
}
