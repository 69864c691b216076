/**
 * The user's SSH agent (draft-miller-ssh-agent): what it holds and what it signs. The protocol is spoken
 * here, because the SSH library's client passes over certificates and security keys, and waits without end.
 */
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import ssh2 from 'ssh2'
import { PresenceError, messageOf } from '../../base/failure.ts'
import { race } from '../../base/race.ts'
import { BlobReader, MalformedBlobError, sshString, uint32 } from './blob.ts'
import { publicKeyOf, type PublicKey } from './public-key.ts'

/** An agent that has not listed its keys by then counts as absent: a dead one must not hold a connect up. */
const LISTING_MS = 3000
/** Signing may wait for a person: a confirmation, a touch of a security key. */
const SIGNING_MS = 60_000

/** authfd.c, MAX_AGENT_REPLY_LEN. */
const LONGEST_REPLY = 256 * 1024

const REQUEST_IDENTITIES = 11
const IDENTITIES_ANSWER = 12
const SIGN_REQUEST = 13
const SIGN_RESPONSE = 14

export interface Agent {
  /** Its socket or pipe. */
  readonly path: string
  readonly keys: readonly PublicKey[]
  /**
   * Sign with the key whose public half is `blob`.
   * @param algorithm - the signature algorithm; it matters for RSA keys.
   * @returns the whole signature, beginning with its algorithm.
   * @throws AgentError when it will not, or does not answer.
   */
  sign(blob: Buffer, data: Buffer, algorithm: string): Promise<Buffer>
}

export class AgentError extends PresenceError {
  constructor(message: string, cause?: unknown) {
    super(message, 'refused', { cause })
  }
}

/**
 * List an agent's keys.
 * @throws AgentError when it cannot be reached, does not answer, or talks nonsense.
 */
export async function openAgent(path: string, platform: NodeJS.Platform): Promise<Agent> {
  const ask = (message: Buffer, limitMs: number): Promise<Reply> => request(path, platform, message, limitMs)
  const { type, body } = await ask(Buffer.from([REQUEST_IDENTITIES]), LISTING_MS)
  if (type !== IDENTITIES_ANSWER) throw new AgentError('it does not list its keys')
  return {
    path,
    keys: understood(() => keysIn(body)),
    sign: async (blob, data, algorithm) => {
      const flags = uint32(RSA_FLAGS[algorithm] ?? 0)
      const message = Buffer.concat([Buffer.from([SIGN_REQUEST]), sshString(blob), sshString(data), flags])
      const reply = await ask(message, SIGNING_MS)
      if (reply.type !== SIGN_RESPONSE) throw new AgentError('it refused to sign')
      return understood(() => new BlobReader(reply.body).string())
    },
  }
}

/** What does not parse is the agent's fault, like everything else that it may do. */
function understood<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedBlobError) throw new AgentError('its answer is none of an agent', error)
    throw error
  }
}

const RSA_FLAGS: Readonly<Record<string, number>> = { 'rsa-sha2-256': 2, 'rsa-sha2-512': 4 }

/** Keys of kinds that do not exist for us yet are passed over, like those of no known kind by `ssh`. */
function keysIn(body: Buffer): PublicKey[] {
  const reader = new BlobReader(body)
  const count = reader.uint32()
  const keys: PublicKey[] = []
  for (let index = 0; index < count; index += 1) {
    const blob = reader.string()
    const comment = reader.text()
    try {
      keys.push(publicKeyOf(blob, comment))
    } catch (error) {
      if (!(error instanceof PresenceError)) throw error
    }
  }
  return keys
}

interface Reply {
  readonly type: number
  readonly body: Buffer
}

/** One question on a connection of its own, as agents of all kinds allow it. */
async function request(
  path: string,
  platform: NodeJS.Platform,
  message: Buffer,
  limitMs: number,
): Promise<Reply> {
  const open = new Set<Duplex>()
  let over = false
  // Also one that is connected only after we gave it up.
  const hold = (stream: Duplex): void => void (over ? stream.destroy() : open.add(stream))
  const ask = async (): Promise<Reply> => {
    const stream = await streamTo(path, platform, hold)
    stream.write(sshString(message))
    return readReply(stream)
  }
  const late = {
    afterMs: limitMs,
    error: () => new AgentError(`it does not answer within ${limitMs / 1000} s`),
  }
  try {
    return await race(ask, [], late)
  } catch (error) {
    throw error instanceof AgentError ? error : new AgentError(messageOf(error), error)
  } finally {
    over = true
    for (const stream of open) stream.destroy()
  }
}

/**
 * On Windows the address may also be `pageant`, or a socket of Cygwin or MSYS: the library knows how to
 * reach those.
 */
function streamTo(path: string, platform: NodeJS.Platform, hold: (stream: Duplex) => void): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    if (platform === 'win32' && !path.startsWith('\\\\.\\pipe\\')) {
      const agent = ssh2.createAgent(path)
      if (agent.getStream === undefined) throw new AgentError('it cannot be reached from here')
      agent.getStream((error, stream) => {
        if (error !== null && error !== undefined) reject(error)
        else if (stream === undefined) reject(new AgentError('it cannot be reached'))
        else {
          hold(stream)
          resolve(stream)
        }
      })
      return
    }
    const socket = connect(path)
    hold(socket)
    socket.once('connect', () => resolve(socket))
    socket.on('error', reject)
  })
}

async function readReply(stream: Duplex): Promise<Reply> {
  let received = Buffer.alloc(0)
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk])
    if (received.length < 4) continue
    const length = received.readUInt32BE(0)
    if (length === 0 || length > LONGEST_REPLY) throw new AgentError('its answer is none of an agent')
    if (received.length < 4 + length) continue
    return { type: received.readUInt8(4), body: received.subarray(5, 4 + length) }
  }
  throw new AgentError('it closed the connection without an answer')
}
