/**
 * What people entrusted to this process, in memory and for its life only, so that a reconnect is silent:
 * passwords that were accepted, and keys that were unlocked. A refused password is forgotten at once.
 */
import type { ParsedKey } from 'ssh2'
import { KeyedLock } from '../../base/keyed-lock.ts'

export class Secrets {
  readonly #passwords = new Map<string, string>()
  readonly #keys = new Map<string, { readonly digest: string; readonly key: ParsedKey }>()
  readonly #unlocking = new KeyedLock()

  get(key: string): string | undefined {
    return this.#passwords.get(key)
  }

  remember(key: string, secret: string): void {
    this.#passwords.set(key, secret)
  }

  forget(key: string): void {
    this.#passwords.delete(key)
  }

  /**
   * The key of an encrypted file. One person is asked once, however many connections want the key at the
   * same time: the others wait for the outcome, and ask themselves only if there was none.
   * @param digest - distinguishes the file's contents from later ones.
   */
  unlocked(
    keyFile: string,
    digest: string,
    unlock: () => Promise<ParsedKey | undefined>,
  ): Promise<ParsedKey | undefined> {
    return this.#unlocking.run(keyFile, async () => {
      const known = this.#keys.get(keyFile)
      if (known?.digest === digest) return known.key
      const key = await unlock()
      if (key !== undefined) this.#keys.set(keyFile, { digest, key })
      return key
    })
  }
}

export const passwordKey = (machine: string, user: string): string => `password ${machine} ${user}`
