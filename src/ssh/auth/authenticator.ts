/**
 * The conversation of one connection attempt about who we are: which method to try next, given what the
 * server still accepts. Owns the list of what was tried, for the error when nothing worked.
 */
import type { AnyAuthMethod, Client, ParsedKey } from 'ssh2'
import type { MachineSettings } from '../config/settings.ts'
import type { ConnectError } from '../errors.ts'
import { AuthReport } from './auth-report.ts'
import type { EncryptedFile, Identities, Identity, PrivateHalf } from './identities.ts'
import { Interactive } from './interactive.ts'
import { closeGaps, type Refusal } from './library-gaps.ts'
import { needsWholeSignature, offerKey } from './offered-key.ts'
import { Passwords } from './passwords.ts'
import { Person, type Ask } from './person.ts'
import type { Secrets } from './secrets.ts'
import { ServerDecides, type StandStill } from './server-decides.ts'
import { SigningError, signWith } from './sign.ts'
import { unlock } from './unlock.ts'

export interface AuthenticatorOptions {
  readonly settings: MachineSettings
  readonly identities: Identities
  readonly secrets: Secrets
  readonly ask: Ask
  /** Does something that waits for a person or a slow computation, with the attempt's clock stopped. */
  readonly standStill: StandStill
}

type Method = 'none' | 'publickey' | 'password' | 'keyboard-interactive'

/** What the server has been given and not answered yet. */
interface Offer {
  readonly method: Method
  readonly identity?: Identity
}

export class Authenticator {
  readonly #settings: MachineSettings
  readonly #secrets: Secrets
  readonly #person: Person
  readonly #standStill: StandStill
  readonly #decides: ServerDecides
  readonly #passwords: Passwords
  readonly #interactive: Interactive
  readonly #report: AuthReport
  #keys: readonly Identity[]
  #refusedKeys: readonly Identity[] = []
  #accepted: readonly string[] | undefined
  #offered: Offer | undefined
  /** What the server said last, heard where the library does not pass it on. */
  #heard: Refusal | undefined
  #gapsClosed = false
  #fail: (error: ConnectError) => void = () => undefined
  #passwordsAsked = 0
  #secretsWithheld = false

  constructor({ settings, identities, secrets, ask, standStill }: AuthenticatorOptions) {
    this.#settings = settings
    this.#secrets = secrets
    this.#standStill = standStill
    this.#decides = new ServerDecides(standStill)
    this.#passwords = new Passwords(settings.alias, settings.user, secrets)
    this.#report = new AuthReport(settings, identities.notes)
    this.#person = new Person(ask, settings, this.#report)
    this.#interactive = new Interactive({
      settings,
      passwords: this.#passwords,
      person: this.#person,
      decides: this.#decides,
      noAnswer: (error) => this.#fail(this.#noAnswer(error)),
    })
    this.#keys = identities.offers
  }

  /** Methods and keys that were offered, in order. */
  get tried(): readonly string[] {
    return this.#report.tried
  }

  /** What let us in. */
  get method(): string {
    return this.#report.method
  }

  /**
   * Use this client, which is connecting.
   * @param fail - ends the attempt from inside a method that cannot.
   */
  attach(client: Client, fail: (error: ConnectError) => void): void {
    this.#fail = fail
    this.#gapsClosed = closeGaps(client, (refusal) => (this.#heard = refusal))
    client.once('close', () => this.#decides.end())
    client.on('change password', () => fail(this.#report.passwordExpired()))
  }

  /**
   * The next method to offer.
   * @param accepted - methods the server still takes; undefined before the first offer.
   * @throws ConnectError `auth-failed` or `question-unanswered` when nothing is left to try.
   */
  async next(accepted: readonly string[] | undefined, partial: boolean): Promise<AnyAuthMethod> {
    this.#decides.end()
    this.#hear(this.#gapsClosed ? this.#heard : this.#toldByTheLibrary(accepted, partial))
    const takes = (method: string): boolean => this.#accepted === undefined || this.#accepted.includes(method)
    for (const method of this.#settings.auth.preferred) {
      if (!takes(method)) continue
      const offer = await this.#offer(method)
      if (offer !== undefined) return offer
    }
    // Nothing to offer blindly: ask the server what it accepts.
    if (this.#accepted === undefined) {
      this.#offering('none', 'none')
      return { type: 'none', username: this.#settings.user }
    }
    throw this.#report.exhausted(this.#accepted)
  }

  /** A password that worked is used again at the next connect. */
  succeeded(): void {
    this.#decides.end()
    this.#passwords.judged('accepted')
  }

  /** Offer no password from now on: the machine's key is not the one that is known for it. */
  withholdSecrets(): void {
    this.#secretsWithheld = true
    this.#report.note('no password was offered, because the host key is not the one known for this machine')
  }

  /** The failure that ended the connection while we authenticated, if it is the server's refusal to go on. */
  cutOff(cause: Error): ConnectError | undefined {
    return this.#report.cutOff(cause)
  }

  /** It repeats the last news but one after a key of an agent, which then cannot be known to have been accepted. */
  #toldByTheLibrary(accepted: readonly string[] | undefined, partial: boolean): Refusal | undefined {
    const half = this.#offered?.identity?.privateHalf.kind
    const own = half === undefined || half === 'file'
    return accepted === undefined ? undefined : { accepted, partial: partial && own }
  }

  #hear(refusal: Refusal | undefined): void {
    const offered = this.#offered
    this.#heard = undefined
    this.#offered = undefined
    if (refusal === undefined) {
      if (offered?.identity !== undefined) this.#report.notOffered(offered.identity)
      return
    }
    this.#accepted = refusal.accepted
    if (offered === undefined) return
    if (offered.method === 'keyboard-interactive') this.#interactive.refused()
    this.#passwords.judged(refusal.partial ? 'accepted' : 'refused')
    if (refusal.partial) {
      this.#report.accepted()
      // What was refused alone may be wanted now; the key that was accepted is not wanted twice.
      this.#keys = [...this.#keys, ...this.#refusedKeys]
      this.#refusedKeys = []
    } else if (offered.identity !== undefined) {
      this.#refusedKeys = [...this.#refusedKeys, offered.identity]
      this.#report.refused(offered.identity)
    }
  }

  #noAnswer(error: unknown): ConnectError {
    return error === undefined ? this.#report.exhausted(this.#accepted ?? []) : this.#report.broken(error)
  }

  async #offer(method: string): Promise<AnyAuthMethod | undefined> {
    const { auth } = this.#settings
    switch (method) {
      case 'publickey':
        return auth.publicKey ? this.#publicKey() : undefined
      case 'password':
        return auth.password && this.#mayAsk ? this.#password() : undefined
      case 'keyboard-interactive':
        return auth.keyboardInteractive && this.#mayAsk ? this.#keyboardInteractive() : undefined
      default:
        // gssapi-with-mic and hostbased: the transport cannot do them; named when all else failed.
        return undefined
    }
  }

  /** Nobody is asked for a secret before the server has said that it takes one. */
  get #mayAsk(): boolean {
    return this.#accepted !== undefined && !this.#secretsWithheld
  }

  async #publicKey(): Promise<AnyAuthMethod | undefined> {
    for (;;) {
      const [identity, ...later] = this.#keys
      if (identity === undefined) return undefined
      if (identity.publicKey === undefined && this.#accepted === undefined) return undefined
      this.#keys = later
      const offer = await this.#keyOffer(identity)
      if (offer === undefined) continue
      this.#offering('publickey', `publickey ${identity.label}`, identity)
      return offer
    }
  }

  async #keyOffer(identity: Identity): Promise<AnyAuthMethod | undefined> {
    const username = this.#settings.user
    const { publicKey, privateHalf, label } = identity
    if (publicKey === undefined) {
      const key = privateHalf.kind === 'encrypted-file' ? await this.#unlock(privateHalf.file) : undefined
      return key === undefined ? undefined : { type: 'publickey', username, key }
    }
    if (needsWholeSignature(publicKey) && !this.#gapsClosed) {
      this.#report.note(
        `${label}: keys of the type ${publicKey.type} cannot be used with this version of the SSH library`,
      )
      return undefined
    }
    if (privateHalf.kind === 'file' && publicKey.certificate === undefined) {
      return { type: 'publickey', username, key: privateHalf.key }
    }
    return offerKey(username, publicKey, async (data, algorithm) => {
      try {
        return await this.#sign(privateHalf, data, algorithm)
      } catch (error) {
        this.#report.unsigned(identity, error)
        throw error
      }
    })
  }

  async #sign(half: PrivateHalf, data: Buffer, algorithm: string): Promise<Buffer> {
    switch (half.kind) {
      case 'agent':
        // It may ask for a confirmation, or for a touch of a security key.
        return this.#standStill(() => half.agent.sign(half.blob, data, algorithm))
      case 'file':
        return signWith(half.key, data, algorithm)
      case 'encrypted-file': {
        const key = await this.#unlock(half.file)
        if (key === undefined) throw new SigningError('it was not unlocked')
        return signWith(key, data, algorithm)
      }
    }
  }

  #unlock(file: EncryptedFile): Promise<ParsedKey | undefined> {
    return this.#standStill(() => unlock(file, this.#settings, this.#person, this.#secrets, this.#report))
  }

  async #password(): Promise<AnyAuthMethod | undefined> {
    const { alias: machine, user, auth } = this.#settings
    let password = auth.batchMode ? undefined : this.#passwords.known('password')
    if (password === undefined) {
      if (this.#passwordsAsked >= auth.passwordPrompts || this.#servesAPrompt()) return undefined
      const retry = this.tried.includes('password')
      ;[password] = (await this.#person.texts({ kind: 'password', machine, user, retry })) ?? []
      if (password === undefined) return undefined
      this.#passwordsAsked += 1
      this.#passwords.typed(password)
    }
    this.#passwords.sending(password, 'password')
    this.#offering('password', 'password')
    this.#decides.begin()
    return { type: 'password', username: user, password }
  }

  /** Whether what was typed may still be the answer to a prompt: that is found out before it is asked for again. */
  #servesAPrompt(): boolean {
    const { preferred, keyboardInteractive } = this.#settings.auth
    const method = 'keyboard-interactive'
    const possible =
      keyboardInteractive && preferred.includes(method) && this.#accepted?.includes(method) === true
    return possible && this.#passwords.known(method) !== undefined
  }

  #keyboardInteractive(): AnyAuthMethod | undefined {
    if (this.#settings.auth.batchMode) {
      this.#report.unanswered({ kind: 'keyboard-interactive' })
      return undefined
    }
    const method = this.#interactive.begin()
    if (method !== undefined) this.#offering('keyboard-interactive', 'keyboard-interactive')
    return method
  }

  #offering(method: Method, what: string, identity?: Identity): void {
    this.#offered = identity === undefined ? { method } : { method, identity }
    this.#report.offering(what)
  }
}
