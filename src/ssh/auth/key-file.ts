/**
 * Private key files: read, judged as `ssh` judges them, and every reason why one cannot be used told apart,
 * so that an encrypted key is asked for and a broken one is named instead of skipped in silence.
 */
import { createHash } from 'node:crypto'
import ssh2, { type ParsedKey } from 'ssh2'
import { PresenceError, messageOf, systemCode } from '../../base/failure.ts'
import { parseOpenSshKey, type OpenSshKey } from './openssh-key.ts'
import { isEncryptedPem, isPem, openPem } from './pem-key.ts'
import { publicKeyIn, publicKeyOf, readPublicKey, type PublicKey } from './public-key.ts'
import { NoSmallFileError, readSmallFile } from './small-file.ts'
import { judgePuttyKey } from './putty-key.ts'

export type KeyFile =
  | { readonly kind: 'usable'; readonly path: string; readonly publicKey: PublicKey; readonly key: ParsedKey }
  | {
      readonly kind: 'encrypted'
      readonly path: string
      /** Its public half, where that can be read without the passphrase. */
      readonly publicKey: PublicKey | undefined
      /** Of the file as it was read. */
      readonly digest: string
      /**
       * The key, or undefined when the passphrase is wrong.
       * @throws UnusableKeyError when it cannot be used with any passphrase.
       */
      unlock(passphrase: string): Promise<ParsedKey | undefined>
    }
  /** Only the public half is here; the private one may be in an agent. */
  | { readonly kind: 'public'; readonly path: string; readonly publicKey: PublicKey; readonly reason: string }
  | { readonly kind: 'absent'; readonly path: string }
  | {
      readonly kind: 'unusable'
      readonly path: string
      readonly publicKey: PublicKey | undefined
      readonly reason: string
    }

export class UnusableKeyError extends PresenceError {
  constructor(reason: string, cause?: unknown) {
    super(reason, 'refused', { cause })
  }
}

/** No private key is longer; what is longer is something else. */
const LONGEST_KEY = 1024 * 1024

/** Read one identity file and the public key beside it. */
export async function readKeyFile(path: string): Promise<KeyFile> {
  const beside = await readPublicKey(`${path}.pub`)
  const publicKey = beside.kind === 'public' ? beside.key : undefined
  const content = await readPrivate(path)
  if (content.kind === 'read') return judge(path, content.text, publicKey)
  if (content.kind === 'refused') return { kind: 'unusable', path, publicKey, reason: content.reason }
  if (publicKey === undefined) return { kind: 'absent', path }
  return { kind: 'public', path, publicKey, reason: 'only its public half is there' }
}

type Content =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly reason: string }

async function readPrivate(path: string): Promise<Content> {
  try {
    const { text, mode, uid } = await readSmallFile(path, LONGEST_KEY)
    // Public keys may be read by all, and are what some configurations name.
    const open = publicKeyIn(text) === undefined && tooOpen(mode, uid)
    if (!open) return { kind: 'read', text }
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    return {
      kind: 'refused',
      reason: `its permissions ${shown} let others read it, so it is not used, as ssh does not (chmod 600 ${path})`,
    }
  } catch (error) {
    return unreadable(error)
  }
}

function unreadable(error: unknown): Content {
  if (error instanceof NoSmallFileError) return { kind: 'refused', reason: error.message }
  const code = systemCode(error)
  if (code === undefined) throw error
  return code === 'ENOENT' || code === 'ENOTDIR'
    ? { kind: 'absent' }
    : { kind: 'refused', reason: messageOf(error) }
}

/** authfile.c, sshkey_perm_ok: files of other owners are theirs to protect; Windows has no such bits. */
function tooOpen(mode: number, owner: number): boolean {
  return process.getuid !== undefined && owner === process.getuid() && (mode & 0o077) !== 0
}

function judge(path: string, text: string, beside: PublicKey | undefined): KeyFile {
  try {
    const openssh = parseOpenSshKey(text)
    if (openssh !== undefined) return judgeOpenSsh(path, text, openssh)
    const putty = judgePuttyKey(text)
    if (putty?.reason !== undefined) {
      return { kind: 'unusable', path, publicKey: putty.publicKey ?? beside, reason: putty.reason }
    }
    if (putty?.encrypted === true) {
      const { publicKey } = putty
      return encrypted(path, text, publicKey, (passphrase) => unlockPutty(text, passphrase))
    }
    if (isPem(text)) {
      if (isEncryptedPem(text)) {
        return encrypted(path, text, beside, async (passphrase) => openPem(text, passphrase))
      }
      return usable(path, parsed(openPem(text) ?? text))
    }
    const itself = publicKeyIn(text)
    if (itself === undefined) return usable(path, parsed(text))
    return { kind: 'public', path, publicKey: itself, reason: 'it holds only a public key' }
  } catch (error) {
    if (!(error instanceof PresenceError)) throw error
    return { kind: 'unusable', path, publicKey: beside, reason: messageOf(error) }
  }
}

function judgeOpenSsh(path: string, text: string, { publicKey, ...key }: OpenSshKey): KeyFile {
  if (publicKey.type.startsWith('sk-')) {
    const reason =
      `its private half (${publicKey.type}) is in a security key, which only an agent can use here: ` +
      `load it with ssh-add ${path}`
    return { kind: 'unusable', path, publicKey, reason }
  }
  if (!key.encrypted) return usable(path, parsed(text))
  return encrypted(path, text, publicKey, (passphrase) => key.open(passphrase))
}

/** @param open - gives what the library reads, or undefined for a wrong passphrase. */
function encrypted(
  path: string,
  text: string,
  publicKey: PublicKey | undefined,
  open: (passphrase: string) => Promise<ParsedKey | string | undefined>,
): KeyFile {
  const digest = createHash('sha256').update(text).digest('hex')
  const unlock = async (passphrase: string): Promise<ParsedKey | undefined> => {
    try {
      const opened = await open(passphrase)
      return typeof opened === 'string' ? parsed(opened) : opened
    } catch (error) {
      throw error instanceof UnusableKeyError ? error : new UnusableKeyError(messageOf(error), error)
    }
  }
  return { kind: 'encrypted', path, publicKey, digest, unlock }
}

function usable(path: string, key: ParsedKey): KeyFile {
  return { kind: 'usable', path, publicKey: publicKeyOf(key.getPublicSSH(), key.comment), key }
}

async function unlockPutty(text: string, passphrase: string): Promise<ParsedKey | undefined> {
  const key = ssh2.utils.parseKey(text, passphrase)
  if (key instanceof Error && /bad passphrase|bad decrypt/i.test(key.message)) return undefined
  return privateKey(key)
}

function parsed(text: string): ParsedKey {
  return privateKey(ssh2.utils.parseKey(text))
}

function privateKey(parsed: ParsedKey | Error | readonly ParsedKey[]): ParsedKey {
  if (parsed instanceof Error) throw new UnusableKeyError(parsed.message, parsed)
  // Declared as possibly several; the library answers with one.
  const key = 'getPublicSSH' in parsed ? parsed : parsed[0]
  if (key === undefined || !key.isPrivateKey()) throw new UnusableKeyError('it holds no private key')
  return key
}
