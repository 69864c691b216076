/**
 * What the SSH library's client cannot do by its public means, done to one client's own protocol object and
 * nowhere else. Two gaps: it writes the certificate's algorithm where the signature's own one belongs
 * (PROTOCOL.certkeys: a certified key signs like the plain one), and has no place for what a security key
 * adds behind its signature; and it keeps to itself what a server says when an agent's key is refused, or
 * accepted as one of several proofs. docs/decisions/user-certificates.md has the reasons.
 */
import ssh2, { type Client, type ParsedKey } from 'ssh2'
import { sshString } from './blob.ts'

/** The parts of the library that are touched; checked before they are. */
interface Protocol {
  authPK: AuthPublicKey
  readonly _packetRW: { write: PacketWriter }
  readonly _handlers: { USERAUTH_FAILURE?: (...args: readonly unknown[]) => void }
}

type AuthPublicKey = (
  user: string,
  key: ParsedKey,
  algorithm: string | undefined,
  sign?: (data: Buffer, finish: (signature: Buffer) => void) => void,
) => void

interface PacketWriter {
  readonly allocStart: number
  alloc(length: number): Buffer
  finalize(packet: Buffer): Buffer
}

/** Keys whose signatures are complete when they come, algorithm and all. */
const WHOLE = new WeakSet<ParsedKey>()

/** Only lent to the library, which wants an object of its own kind. */
const CARRIER = `ssh-ed25519 ${Buffer.concat([sshString('ssh-ed25519'), sshString(Buffer.alloc(32))]).toString('base64')}`

/** A public key or certificate of any type, offered under `algorithm`. It needs `closeGaps`. */
export function anyPublicKey(algorithm: string, blob: Buffer): ParsedKey {
  const key = ssh2.utils.parseKey(CARRIER)
  if (key instanceof Error) throw key
  const carrier = Object.assign(key, { type: algorithm, getPublicSSH: () => blob }) as ParsedKey
  WHOLE.add(carrier)
  return carrier
}

export interface Refusal {
  /** Methods that the server still takes. */
  readonly accepted: readonly string[]
  /** The offer was accepted, but alone it is not enough. */
  readonly partial: boolean
}

/**
 * Close the gaps of a client that is connecting.
 * @returns false when the library has another shape than the one this was made for: nothing was touched, and
 *   `anyPublicKey` cannot be used with it.
 */
export function closeGaps(client: Client, onRefusal: (refusal: Refusal) => void): boolean {
  const protocol = protocolOf(client)
  if (protocol === undefined) return false
  const authPublicKey = protocol.authPK.bind(protocol)
  protocol.authPK = (user, key, algorithm, sign) => {
    if (sign === undefined || !WHOLE.has(key)) {
      authPublicKey(user, key, algorithm, sign)
      return
    }
    authPublicKey(user, key, algorithm, (data, finish) =>
      sign(data, (signature) => withWholeSignature(protocol, data, signature, () => finish(signature))),
    )
  }
  const told = protocol._handlers.USERAUTH_FAILURE
  protocol._handlers.USERAUTH_FAILURE = (...args) => {
    const [, accepted, partial] = args
    if (Array.isArray(accepted)) onRefusal({ accepted: accepted.map(String), partial: partial === true })
    told?.(...args)
  }
  return true
}

/**
 * Let the library send its request as always, but with the bytes that were signed and the signature behind
 * them in place of what it has put together.
 */
function withWholeSignature(protocol: Protocol, signed: Buffer, signature: Buffer, send: () => void): void {
  // What is signed is the session's identifier as a string, and then the request itself.
  const request = signed.subarray(4 + signed.readUInt32BE(0))
  const payload = Buffer.concat([request, sshString(signature)])
  const { write } = protocol._packetRW
  protocol._packetRW.write = {
    allocStart: 0,
    alloc: (length) => Buffer.alloc(length),
    finalize: (_theirs) => {
      const packet = write.alloc(payload.length)
      packet.set(payload, write.allocStart)
      return write.finalize(packet)
    },
  }
  try {
    send()
  } finally {
    protocol._packetRW.write = write
  }
}

function protocolOf(client: Client): Protocol | undefined {
  const protocol = (client as unknown as { readonly _protocol?: Partial<Protocol> })._protocol
  const write = protocol?._packetRW?.write
  const fits =
    typeof protocol?.authPK === 'function' &&
    protocol.authPK.length === 4 &&
    typeof protocol._handlers?.USERAUTH_FAILURE === 'function' &&
    typeof write?.allocStart === 'number' &&
    typeof write.alloc === 'function' &&
    typeof write.finalize === 'function'
  return fits ? (protocol as Protocol) : undefined
}
