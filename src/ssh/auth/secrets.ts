/**
 * Answers that people gave, kept in memory for the life of the process so that a reconnect is silent.
 * A refused answer is forgotten at once, so that a changed password is never tried twice.
 */
export class Secrets {
  readonly #answers = new Map<string, string>()

  get(key: string): string | undefined {
    return this.#answers.get(key)
  }

  remember(key: string, secret: string): void {
    this.#answers.set(key, secret)
  }

  forget(key: string): void {
    this.#answers.delete(key)
  }
}

export const passwordKey = (machine: string, user: string): string => `password ${machine} ${user}`
export const passphraseKey = (keyFile: string): string => `passphrase ${keyFile}`
