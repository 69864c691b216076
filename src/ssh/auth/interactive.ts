/**
 * Keyboard-interactive authentication (RFC 4256) during one attempt: as many rounds as the server likes, each
 * answered by the password that is known already where just that is asked for, and by a person otherwise.
 */
import type { KeyboardInteractiveAuthMethod, Prompt } from 'ssh2'
import type { MachineSettings } from '../config/settings.ts'
import type { Prompt as AskedPrompt } from '../questions.ts'
import { asksForPassword, type Passwords } from './passwords.ts'
import type { Person } from './person.ts'
import type { ServerDecides } from './server-decides.ts'

export interface InteractiveParts {
  readonly settings: MachineSettings
  readonly passwords: Passwords
  readonly person: Person
  readonly decides: ServerDecides
  /** Ends the attempt: there is no answer to a round, for a reason that the person's side gives. */
  readonly noAnswer: (error?: unknown) => void
}

interface Round {
  readonly name: string
  readonly instructions: string
  readonly prompts: readonly Prompt[]
  readonly retry: boolean
}

export class Interactive {
  readonly #parts: InteractiveParts
  /** Exchanges in which a person was asked. */
  #asked = 0
  /** Exchanges so far. */
  #begun = 0
  /** Whether the server has asked anything in this exchange. */
  #prompted = false
  /** It refuses without having asked, and would for ever. */
  #vain = false

  constructor(parts: InteractiveParts) {
    this.#parts = parts
  }

  /** One more exchange, or undefined when there have been enough. */
  begin(): KeyboardInteractiveAuthMethod | undefined {
    const { settings, decides, noAnswer } = this.#parts
    if (this.#vain || this.#asked >= settings.auth.passwordPrompts) return undefined
    const retry = this.#begun > 0
    let asked = false
    const count = (): void => {
      if (!asked) this.#asked += 1
      asked = true
    }
    this.#begun += 1
    this.#prompted = false
    decides.begin()
    return {
      type: 'keyboard-interactive',
      username: settings.user,
      prompt: (name, instructions, _language, prompts, finish) => {
        decides.end()
        this.#prompted = true
        this.#answer({ name, instructions, prompts, retry }, count).then((texts) => {
          // Wrong answers count against the account, so none are made up.
          if (texts === undefined) return noAnswer()
          decides.begin()
          return finish([...texts])
        }, noAnswer)
      },
    }
  }

  /** The server did not accept the last exchange. */
  refused(): void {
    if (!this.#prompted) this.#vain = true
  }

  async #answer(round: Round, count: () => void): Promise<readonly string[] | undefined> {
    const { passwords } = this.#parts
    const prompts = round.prompts.map(({ prompt, echo }) => ({ text: prompt, echo: echo === true }))
    if (!asksForPassword(prompts)) {
      count()
      return this.#ask({ ...round, prompts })
    }
    const known = passwords.known('keyboard-interactive')
    if (known === undefined) count()
    const texts = known === undefined ? await this.#ask({ ...round, prompts }) : [known]
    const [password] = texts ?? []
    if (password !== undefined) passwords.sending(password, 'keyboard-interactive')
    return texts
  }

  async #ask(
    round: Omit<Round, 'prompts'> & { readonly prompts: readonly AskedPrompt[] },
  ): Promise<readonly string[] | undefined> {
    const { settings, person } = this.#parts
    const { alias: machine, user } = settings
    const texts = await person.texts({ kind: 'keyboard-interactive', machine, user, ...round })
    if (texts !== undefined && texts.length !== round.prompts.length) {
      throw new Error(`${texts.length} answers came for ${round.prompts.length} prompts`)
    }
    return texts
  }
}
