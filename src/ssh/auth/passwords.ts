/**
 * The password of one account during one attempt: the one that is remembered, or the one that is typed, and
 * what becomes of it when the server has judged it. A refused password is never sent a second time by itself.
 */
import type { Prompt } from '../questions.ts'
import { passwordKey, type Secrets } from './secrets.ts'

export type PasswordMethod = 'password' | 'keyboard-interactive'

export class Passwords {
  readonly #secrets: Secrets
  readonly #key: string
  readonly #sent = { password: new Set<string>(), 'keyboard-interactive': new Set<string>() }
  /** Typed by a person for the plain method, and not yet tried as the answer to a prompt. */
  #typed: string | undefined
  /** Sent, and not judged yet. */
  #pending: string | undefined

  constructor(machine: string, user: string, secrets: Secrets) {
    this.#secrets = secrets
    this.#key = passwordKey(machine, user)
  }

  /** A password that needs no question: remembered, or typed a moment ago for the other method. */
  known(method: PasswordMethod): string | undefined {
    const candidates = [
      this.#secrets.get(this.#key),
      // Servers exist that refuse every password, and take the same one as the answer to a prompt.
      method === 'keyboard-interactive' ? this.#typed : undefined,
    ]
    return candidates.find((one) => one !== undefined && !this.#sent[method].has(one))
  }

  typed(password: string): void {
    this.#typed = password
  }

  sending(password: string, method: PasswordMethod): void {
    this.#sent[method].add(password)
    this.#pending = password
  }

  judged(verdict: 'accepted' | 'refused'): void {
    const password = this.#pending
    this.#pending = undefined
    if (password === undefined) return
    if (verdict === 'accepted') this.#secrets.remember(this.#key, password)
    // Another connection may have learnt a newer one meanwhile.
    else if (this.#secrets.get(this.#key) === password) this.#secrets.forget(this.#key)
  }
}

const PASSWORD =
  /passw|passphrase|mot de passe|contraseña|senha|parola|lösen|adgangskode|salasana|heslo|hasło|пароль|密码|密碼|パスワード|암호|비밀번호/i
const ONE_TIME =
  /\b(one[- ]?time|otp|totp|token|pass ?code|code|pin|verification|second|2fa|new|old|retype|again)\b|验证|驗證|動態|动态|新密|ワンタイム/i

/**
 * Whether a round asks for the account's password and nothing else. Only such an answer is remembered and
 * given again: a one-time code that is sent twice is a refused try.
 */
export function asksForPassword(prompts: readonly Prompt[]): boolean {
  const [only, ...others] = prompts
  return (
    only !== undefined &&
    others.length === 0 &&
    !only.echo &&
    PASSWORD.test(only.text) &&
    !ONE_TIME.test(only.text)
  )
}
