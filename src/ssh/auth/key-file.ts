/**
 * Private key files: read, parsed, and every reason why one cannot be used told apart, so that an
 * encrypted key is asked for and a broken one is named instead of skipped in silence.
 */
import { readFile } from 'node:fs/promises'
import ssh2, { type ParsedKey } from 'ssh2'
import { messageOf, systemCode } from '../../base/failure.ts'

export type KeyFile =
  | { readonly kind: 'usable'; readonly path: string; readonly key: ParsedKey }
  | { readonly kind: 'encrypted'; readonly path: string }
  | { readonly kind: 'absent'; readonly path: string }
  | { readonly kind: 'unusable'; readonly path: string; readonly reason: string }

/** Read one identity file; `passphrase` decrypts it. */
export async function readKeyFile(path: string, passphrase?: string): Promise<KeyFile> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent', path }
    return { kind: 'unusable', path, reason: messageOf(error) }
  }
  const parsed = ssh2.utils.parseKey(bytes, passphrase)
  if (!(parsed instanceof Error)) {
    // The OpenSSH container may hold several keys in theory; it never does in practice.
    const key = Array.isArray(parsed) ? (parsed as ParsedKey[])[0] : parsed
    if (key === undefined || !key.isPrivateKey())
      return { kind: 'unusable', path, reason: 'holds no private key' }
    return { kind: 'usable', path, key }
  }
  if (passphrase === undefined && /no passphrase given/i.test(parsed.message))
    return { kind: 'encrypted', path }
  if (passphrase !== undefined && /bad passphrase|bad decrypt/i.test(parsed.message))
    return { kind: 'encrypted', path }
  return {
    kind: 'unusable',
    path,
    reason: `${parsed.message} (try: ssh-keygen -p -f ${path}, or load it into an agent)`,
  }
}

/** The public key beside an identity file (`x.pub`), for keys whose private half is in an agent. */
export async function readPublicKeyFile(identityFile: string): Promise<ParsedKey | undefined> {
  for (const path of [`${identityFile}.pub`, identityFile]) {
    try {
      const parsed = ssh2.utils.parseKey(await readFile(path))
      if (!(parsed instanceof Error)) return Array.isArray(parsed) ? (parsed as ParsedKey[])[0] : parsed
    } catch (error) {
      const code = systemCode(error)
      // Absent and unreadable alike mean that this file names no public key; the private half is judged elsewhere.
      if (code === undefined) throw error
    }
  }
  return undefined
}
