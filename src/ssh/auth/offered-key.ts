/**
 * One public key, offered by way of the library's notion of an agent: only when the server wants it is the
 * signature asked for, so that a passphrase is asked for only where it helps, as `ssh` does.
 */
import ssh2, {
  type AgentAuthMethod,
  type IdentityCallback,
  type ParsedKey,
  type SignCallback,
  type SigningRequestOptions,
} from 'ssh2'
import { anyPublicKey } from './library-gaps.ts'
import type { PublicKey } from './public-key.ts'
import { bareSignature, signatureAlgorithm, type Sign } from './sign.ts'

/** Whether offering this key needs what the library cannot do by itself. */
export function needsWholeSignature(key: PublicKey): boolean {
  return ssh2.utils.parseKey(key.blob) instanceof Error
}

export function offerKey(user: string, key: PublicKey, sign: Sign): AgentAuthMethod {
  return { type: 'agent', username: user, agent: new OfferedKey(key, sign) }
}

class OfferedKey extends ssh2.BaseAgent<ParsedKey> {
  readonly #key: PublicKey
  readonly #whole: boolean
  readonly #parsed: ParsedKey
  readonly #sign: Sign

  constructor(key: PublicKey, sign: Sign) {
    super()
    const parsed = ssh2.utils.parseKey(key.blob)
    this.#key = key
    this.#whole = parsed instanceof Error
    this.#parsed = parsed instanceof Error ? anyPublicKey(offeredAs(key), key.blob) : (parsed as ParsedKey)
    this.#sign = sign
  }

  override getIdentities(callback: IdentityCallback<ParsedKey>): void {
    callback(undefined, [this.#parsed])
  }

  override sign(key: ParsedKey, data: Buffer, options: SigningRequestOptions, callback?: SignCallback): void
  override sign(key: ParsedKey, data: Buffer, callback: SignCallback): void
  override sign(
    _theOnlyOne: ParsedKey,
    data: Buffer,
    options: SigningRequestOptions | SignCallback,
    callback?: SignCallback,
  ): void {
    const [hash, done] =
      typeof options === 'function' ? [undefined, options] : [(options as Negotiated).hash, callback]
    this.#signature(data, hash).then(
      (signature) => done?.(undefined, signature),
      (error: unknown) => done?.(error instanceof Error ? error : new Error(String(error))),
    )
  }

  async #signature(data: Buffer, hash: string | undefined): Promise<Buffer> {
    const plainType = this.#key.certificate?.plainType ?? this.#key.type
    const algorithm = RSA_BY_HASH[hash ?? ''] ?? signatureAlgorithm(plainType)
    const signature = await this.#sign(data, algorithm)
    return this.#whole ? signature : bareSignature(signature, algorithm)
  }
}

/** What the library has agreed on with the server; set for RSA keys only. */
interface Negotiated {
  readonly hash?: string
}

const RSA_BY_HASH: Readonly<Record<string, string>> = {
  sha1: 'ssh-rsa',
  sha256: 'rsa-sha2-256',
  sha512: 'rsa-sha2-512',
}

/** An RSA certificate is offered under the name of its signature's algorithm; all others under their type. */
function offeredAs({ type, certificate }: PublicKey): string {
  if (certificate?.plainType !== 'ssh-rsa') return type
  return `${signatureAlgorithm('ssh-rsa')}-cert-v01@openssh.com`
}
