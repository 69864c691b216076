/** The person who answers during one attempt, if there is one: what was asked in vain is remembered. */
import type { MachineSettings } from '../config/settings.ts'
import type { Answer, Question } from '../questions.ts'
import type { AuthReport } from './auth-report.ts'

/** Asks a person with the attempt's clock stopped. */
export type Ask = (question: Question) => Promise<Answer>

export class Person {
  readonly #ask: Ask
  readonly #batchMode: boolean
  readonly #report: AuthReport

  constructor(ask: Ask, { auth }: MachineSettings, report: AuthReport) {
    this.#ask = ask
    this.#batchMode = auth.batchMode
    this.#report = report
  }

  /** The answer in words, or undefined when there is none: nobody is there, or does not want to. */
  async texts(question: Question): Promise<readonly string[] | undefined> {
    const answer: Answer = this.#batchMode ? { kind: 'nobody' } : await this.#ask(question)
    switch (answer.kind) {
      case 'text':
        return [answer.text]
      case 'texts':
        return answer.texts
      case 'nobody':
        this.#report.unanswered(question)
        return undefined
      case 'yes':
      case 'no':
        this.#report.declined(question)
        return undefined
    }
  }
}
