/** Key pairs of a rig machine: made once, kept in files, never passed through an outside program. */
import { existsSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import ssh2 from 'ssh2'

export interface KeyPair {
  readonly privateFile: string
  readonly privateKey: string
  /** One line as in an authorized_keys file: type, base64, comment. */
  readonly publicLine: string
}

/**
 * The library now and then makes a private key that it cannot read itself (17 of 3,000): it takes a value
 * for shorter when that happens to begin with a zero.
 */
function readableKeyPair(comment: string): { readonly private: string; readonly public: string } {
  for (;;) {
    const made = ssh2.utils.generateKeyPairSync('ed25519', { comment })
    if (!(ssh2.utils.parseKey(made.private) instanceof Error)) return made
  }
}

/** The Ed25519 key pair in `file` and `file.pub`, made when it is not there. */
export async function keyPairAt(file: string, comment: string): Promise<KeyPair> {
  if (!existsSync(file)) {
    const made = readableKeyPair(comment)
    await writeFile(`${file}.pub`, `${made.public}\n`)
    await writeFile(file, made.private, { mode: 0o600 })
  }
  // `ssh` refuses a private key that others may read, for instance one restored from a copy.
  await chmod(file, 0o600)
  const [privateKey, publicText] = await Promise.all([
    readFile(file, 'utf8'),
    readFile(`${file}.pub`, 'utf8'),
  ])
  return { privateFile: file, privateKey, publicLine: publicText.trim() }
}
