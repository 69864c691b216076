/**
 * What was tried to be let in, and the error in words when it was not enough. Answers of people never come
 * in here, so that no message can hold one.
 */
import { messageOf, systemCode } from '../../base/failure.ts'
import type { MachineSettings } from '../config/settings.ts'
import { ConnectError, type SshErrorCode } from '../errors.ts'
import type { Question } from '../questions.ts'
import { objectionsTo } from './certificate.ts'
import type { Identity } from './identities.ts'

/** RFC 4253, section 11.1: SSH_DISCONNECT_NO_MORE_AUTH_METHODS_AVAILABLE. */
const NO_MORE_METHODS = 14
/** Servers that end the connection without a word do it after several refusals; one or two are an accident. */
const REFUSALS_THAT_TELL = 3

type Asked =
  | Pick<Extract<Question, { kind: 'passphrase' }>, 'kind' | 'keyFile'>
  | { readonly kind: Exclude<Question['kind'], 'passphrase'> }

export class AuthReport {
  readonly tried: string[] = []
  readonly #settings: MachineSettings
  readonly #notes: string[]
  readonly #successes: string[] = []
  readonly #unanswered = new Set<string>()
  readonly #unsigned = new Set<Identity>()
  #offered = 'none'

  constructor(settings: MachineSettings, notes: readonly string[]) {
    this.#settings = settings
    this.#notes = [...notes]
  }

  /** Everything that let us in, in order, when the last offer did. */
  get method(): string {
    return [...this.#successes, this.#offered].join(', ')
  }

  note(text: string): void {
    if (!this.#notes.includes(text)) this.#notes.push(text)
  }

  offering(what: string): void {
    this.#offered = what
    if (what !== 'none') this.tried.push(what)
  }

  /** The last offer was accepted, but more is wanted. */
  accepted(): void {
    this.#successes.push(this.#offered)
  }

  refused({ label, publicKey }: Identity): void {
    const certificate = publicKey?.certificate
    if (certificate === undefined) return
    const visible = objectionsTo(certificate, this.#settings.user, new Date())
    const why =
      visible.length > 0
        ? visible.join(', ')
        : 'the server may not trust its authority, or not for this account'
    this.note(`${label} was refused: ${why}`)
  }

  /** The library went on without sending it. */
  notOffered(identity: Identity): void {
    if (identity.publicKey?.type === 'ssh-rsa' && !this.#unsigned.has(identity)) {
      this.note(`${identity.label}: no signature algorithm for RSA keys in common with the server`)
    }
  }

  unsigned(identity: Identity, error: unknown): void {
    this.#unsigned.add(identity)
    this.note(`${identity.label}: ${messageOf(error)}`)
  }

  /** Nobody was there. */
  unanswered(question: Asked): void {
    const what = this.#wanted(question)
    if (what !== undefined) this.#unanswered.add(what)
  }

  /** Somebody was there, and gave no answer. */
  declined(question: Asked): void {
    const what = this.#wanted(question)
    if (what !== undefined) this.note(`no answer was given for ${what}`)
  }

  #wanted(question: Asked): string | undefined {
    switch (question.kind) {
      case 'passphrase':
        return `the passphrase of ${question.keyFile}`
      case 'password':
        return `the password of ${this.#settings.user}`
      case 'keyboard-interactive':
        return 'what the server asks interactively (a password or a one-time code)'
      case 'host-key':
        return undefined
    }
  }

  exhausted(accepted: readonly string[]): ConnectError {
    const { user, auth } = this.#settings
    const beyondUs = auth.preferred.filter(
      (method) => ['gssapi-with-mic', 'hostbased'].includes(method) && accepted.includes(method),
    )
    const facts = [
      ...this.#facts(),
      `the server accepts: ${accepted.join(', ') || 'nothing more'}`,
      ...this.#notes,
      ...beyondUs.map((method) => `${method} is not supported by Presence`),
    ]
    const failed = `authentication as ${user} failed (${facts.join('; ')})`
    if (this.#unanswered.size === 0) return this.#error(failed, 'auth-failed')
    const why = auth.batchMode ? 'BatchMode forbids to ask' : 'nobody was there to be asked'
    const what = [...this.#unanswered].join(' and ')
    return this.#error(
      `${failed}. ${sentence(why)} for ${what}: connect once where a person can answer, ` +
        `${auth.batchMode ? 'without BatchMode, ' : ''}or give the machine a key that asks for nothing (ssh-copy-id, ssh-add)`,
      'question-unanswered',
    )
  }

  /** Whether the end of the connection is a server's answer to our offers, and which. */
  cutOff(cause: Error): ConnectError | undefined {
    const code: unknown = 'code' in cause ? cause.code : undefined
    const said = /too many authentication failures|too many .*(tries|attempts)/i.test(cause.message)
    // A reset has a code of the system; a server that merely hangs up leaves none.
    const hungUp =
      code === undefined && systemCode(cause) === undefined && this.tried.length >= REFUSALS_THAT_TELL
    if (!said && code !== NO_MORE_METHODS && !hungUp) return undefined
    const { user } = this.#settings
    return this.#error(
      `the server ended the connection before authentication as ${user} was over: ` +
        `too many failures for it (${[...this.#facts(), ...this.#notes].join('; ')}). ` +
        'Name the right key by IdentityFile and set IdentitiesOnly yes, so that no others are offered before it',
      'auth-failed',
      cause,
    )
  }

  passwordExpired(): ConnectError {
    const { user } = this.#settings
    return this.#error(
      `the password of ${user} has expired: change it by logging in with ssh in a terminal, then connect again`,
      'auth-failed',
    )
  }

  broken(error: unknown): ConnectError {
    return this.#error(`asking a person failed: ${messageOf(error)}`, 'question-unanswered', error)
  }

  #facts(): string[] {
    return [
      `tried: ${this.tried.length === 0 ? 'nothing' : this.tried.join(', ')}`,
      ...(this.#successes.length === 0 ? [] : [`accepted, but not enough: ${this.#successes.join(', ')}`]),
    ]
  }

  #error(message: string, code: SshErrorCode, cause?: unknown): ConnectError {
    const { alias } = this.#settings
    return new ConnectError(message, code, {
      machine: alias,
      stage: 'auth',
      ...(cause === undefined ? {} : { cause }),
    })
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
