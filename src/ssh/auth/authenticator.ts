/**
 * The conversation of one connection attempt about who we are: which method to try next, given what
 * the server still accepts. Owns the list of what was tried, for the error when nothing worked.
 */
import type {
  AgentAuthMethod,
  AnyAuthMethod,
  KeyboardInteractiveAuthMethod,
  PasswordAuthMethod,
  PublicKeyAuthMethod,
} from 'ssh2'
import { ConnectError } from '../errors.ts'
import type { MachineSettings } from '../config/settings.ts'
import type { Answer, Question } from '../questions.ts'
import type { Identities, Identity } from './identities.ts'
import { readKeyFile } from './key-file.ts'
import { passphraseKey, passwordKey, type Secrets } from './secrets.ts'

/** Asks a person with the attempt's clock stopped. */
export type Ask = (question: Question) => Promise<Answer>

export class Authenticator {
  /** Methods and keys that were offered, in order. */
  readonly tried: string[] = []
  /** Where the answer that finally worked came from. */
  method = 'none'

  readonly #settings: MachineSettings
  readonly #identities: Identities
  readonly #secrets: Secrets
  readonly #ask: Ask
  readonly #notes: string[]
  #nextIdentity = 0
  #passwordsTried = 0
  #interactiveTried = 0
  #secretsWithheld = false
  /** The password that the server has not judged yet. */
  #pendingPassword: string | undefined

  constructor(settings: MachineSettings, identities: Identities, secrets: Secrets, ask: Ask) {
    this.#settings = settings
    this.#identities = identities
    this.#secrets = secrets
    this.#ask = ask
    this.#notes = [...identities.notes]
  }

  /**
   * The next method to offer.
   * @param accepted - methods the server still takes; undefined before the first offer.
   * @throws ConnectError `auth-failed` when nothing is left to try.
   */
  async next(accepted: readonly string[] | undefined, partialSuccess: boolean): Promise<AnyAuthMethod> {
    if (this.#pendingPassword !== undefined && !partialSuccess) this.#secrets.forget(this.#passwordKey)
    this.#pendingPassword = undefined
    const takes = (method: string): boolean => accepted === undefined || accepted.includes(method)
    for (const method of this.#settings.auth.preferred) {
      if (!takes(method)) continue
      const offer = await this.#offer(method, accepted !== undefined)
      if (offer !== undefined) return offer
    }
    // Nothing to offer blindly: ask the server what it accepts.
    if (accepted === undefined) {
      this.method = 'none'
      return { type: 'none', username: this.#settings.user }
    }
    throw this.#exhausted(accepted)
  }

  /** A password that worked is used again at the next connect. */
  succeeded(): void {
    if (this.#pendingPassword !== undefined) this.#secrets.remember(this.#passwordKey, this.#pendingPassword)
  }

  /** Offer no password from now on: the machine's key is not the one that is known for it. */
  withholdSecrets(): void {
    this.#secretsWithheld = true
    this.#notes.push('no password was offered, because the host key is not the one known for this machine')
  }

  get #passwordKey(): string {
    return passwordKey(this.#settings.alias, this.#settings.user)
  }

  async #offer(method: string, askingAllowed: boolean): Promise<AnyAuthMethod | undefined> {
    const { auth } = this.#settings
    switch (method) {
      case 'publickey':
        return auth.publicKey ? this.#publicKey(askingAllowed) : undefined
      case 'password':
        return auth.password && askingAllowed && !this.#secretsWithheld ? this.#password() : undefined
      case 'keyboard-interactive':
        return auth.keyboardInteractive && askingAllowed && !this.#secretsWithheld
          ? this.#interactive()
          : undefined
      default:
        // gssapi-with-mic and hostbased: the transport cannot do them; named when all else failed.
        return undefined
    }
  }

  async #publicKey(askingAllowed: boolean): Promise<PublicKeyAuthMethod | AgentAuthMethod | undefined> {
    for (;;) {
      const identity = this.#identities.offers[this.#nextIdentity]
      if (identity === undefined) return undefined
      // An encrypted file may need a person: first learn whether the server takes keys at all.
      if (identity.kind === 'encrypted-file' && !askingAllowed) return undefined
      this.#nextIdentity += 1
      const offer = await this.#keyOffer(identity)
      if (offer === undefined) continue
      this.#record(`publickey ${identity.label}`)
      return offer
    }
  }

  async #keyOffer(identity: Identity): Promise<PublicKeyAuthMethod | AgentAuthMethod | undefined> {
    const username = this.#settings.user
    switch (identity.kind) {
      case 'agent':
        return { type: 'agent', username, agent: identity.agent.offering([identity.key]) }
      case 'file':
        return { type: 'publickey', username, key: identity.key }
      case 'encrypted-file':
        return this.#unlock(identity.path)
    }
  }

  async #unlock(path: string): Promise<PublicKeyAuthMethod | undefined> {
    const { alias, user, auth } = this.#settings
    const remembered = this.#secrets.get(passphraseKey(path))
    for (let attempt = 0; attempt < auth.passwordPrompts; attempt += 1) {
      const passphrase =
        attempt === 0 && remembered !== undefined
          ? remembered
          : await this.#text({ kind: 'passphrase', machine: alias, keyFile: path, retry: attempt > 0 })
      if (passphrase === undefined) break
      const file = await readKeyFile(path, passphrase)
      if (file.kind === 'usable') {
        this.#secrets.remember(passphraseKey(path), passphrase)
        return { type: 'publickey', username: user, key: file.key }
      }
      this.#secrets.forget(passphraseKey(path))
      if (file.kind === 'unusable') {
        this.#notes.push(`key file ${path}: ${file.reason}`)
        return undefined
      }
    }
    this.#notes.push(`key file ${path} is encrypted and was not unlocked (load it with ssh-add)`)
    return undefined
  }

  async #password(): Promise<PasswordAuthMethod | undefined> {
    const password = await this.#nextPassword(this.#passwordsTried)
    if (password === undefined) return undefined
    this.#passwordsTried += 1
    this.#pendingPassword = password
    this.#record('password')
    return { type: 'password', username: this.#settings.user, password }
  }

  async #interactive(): Promise<KeyboardInteractiveAuthMethod | undefined> {
    if (this.#interactiveTried >= this.#settings.auth.passwordPrompts) return undefined
    const password = await this.#nextPassword(this.#interactiveTried)
    if (password === undefined) return undefined
    this.#interactiveTried += 1
    this.#pendingPassword = password
    this.#record('keyboard-interactive')
    return {
      type: 'keyboard-interactive',
      username: this.#settings.user,
      // One hidden prompt is the password in other clothes; anything else is not answered with it.
      prompt: (_name, _instructions, _language, prompts, finish) => {
        const only = prompts.length === 1 ? prompts[0] : undefined
        finish(only !== undefined && only.echo !== true ? [password] : prompts.map(() => ''))
      },
    }
  }

  async #nextPassword(alreadyTried: number): Promise<string | undefined> {
    const { alias, user, auth } = this.#settings
    if (alreadyTried === 0) {
      const remembered = this.#secrets.get(this.#passwordKey)
      if (remembered !== undefined) return remembered
    }
    if (alreadyTried >= auth.passwordPrompts) return undefined
    return this.#text({ kind: 'password', machine: alias, user, retry: alreadyTried > 0 })
  }

  async #text(question: Question): Promise<string | undefined> {
    if (this.#settings.auth.batchMode) return undefined
    const answer = await this.#ask(question)
    return answer.kind === 'text' ? answer.text : undefined
  }

  #record(what: string): void {
    this.tried.push(what)
    this.method = what
  }

  #exhausted(accepted: readonly string[]): ConnectError {
    const { alias, user, auth } = this.#settings
    const beyondUs = auth.preferred.filter(
      (method) => ['gssapi-with-mic', 'hostbased'].includes(method) && accepted.includes(method),
    )
    const facts = [
      `tried: ${this.tried.length === 0 ? 'nothing' : this.tried.join(', ')}`,
      `the server accepts: ${accepted.join(', ') || 'nothing more'}`,
      ...this.#notes,
      ...beyondUs.map((method) => `${method} is not supported by Presence`),
    ]
    return new ConnectError(`authentication as ${user} failed (${facts.join('; ')})`, 'auth-failed', {
      machine: alias,
      stage: 'auth',
    })
  }
}
