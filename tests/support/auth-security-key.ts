/**
 * An agent that holds a security key made of software: it signs as a FIDO token does (PROTOCOL.u2f), and a
 * real sshd verifies it. There is no token on a test computer, and `ssh-agent` signs with nothing else.
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { startFalseAgent, type FalseAgent } from './auth-agent.ts'

const TYPE = 'sk-ssh-ed25519@openssh.com'
const APPLICATION = 'ssh:'
const USER_PRESENT = 1

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const field = (value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}
const sha256 = (value: Buffer | string): Buffer => createHash('sha256').update(value).digest()

export interface SecurityKeyAgent extends FalseAgent {
  /** As in an authorized_keys file. */
  readonly publicLine: string
  /** How often it has signed, that is, was touched. */
  readonly touches: number
}

/** @param touch - waits for the person who touches the token. */
export async function startSecurityKeyAgent(
  socket: string,
  touch: () => Promise<void> = () => Promise.resolve(),
): Promise<SecurityKeyAgent> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const blob = Buffer.concat([field(TYPE), field(raw), field(APPLICATION)])
  let touches = 0
  const signature = (data: Buffer): Buffer => {
    touches += 1
    const state = Buffer.concat([Buffer.from([USER_PRESENT]), uint32(touches)])
    const message = Buffer.concat([sha256(APPLICATION), state, sha256(data)])
    return Buffer.concat([field(TYPE), field(sign(null, message, privateKey)), state])
  }
  const agent = await startFalseAgent(socket, (request, connection) => {
    if (request[0] === 11) {
      return field(Buffer.concat([Buffer.from([12]), uint32(1), field(blob), field('token')]))
    }
    const dataAt = 1 + 4 + request.readUInt32BE(1)
    const data = request.subarray(dataAt + 4, dataAt + 4 + request.readUInt32BE(dataAt))
    void touch().then(() =>
      connection.write(field(Buffer.concat([Buffer.from([14]), field(signature(data))]))),
    )
    return undefined
  })
  return {
    env: agent.env,
    get connections() {
      return agent.connections
    },
    close: () => agent.close(),
    publicLine: `${TYPE} ${blob.toString('base64')} token`,
    get touches() {
      return touches
    },
  }
}
