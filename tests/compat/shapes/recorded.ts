/** Base classes without behaviour: each method only notes who was called, how, and with what. */
import type { Context, Service } from '@deepseek-ai/cordis'

export interface Call {
  readonly method: string
  readonly self: unknown
  readonly args: readonly unknown[]
  /** What the call gave, so that a test can tell whether it was passed on untouched. */
  readonly answer: unknown
}

/** How a method answers: with the value itself, or with a promise of it. */
export type Answer = 'value' | 'promise'

/** Every call of any recorded class since the last `takeCalls`. */
const calls: Call[] = []

export function takeCalls(): Call[] {
  return calls.splice(0)
}

type ServiceClass = abstract new (ctx: Context) => Service

/** A concrete class below an abstract one. */
export function recorded(
  base: ServiceClass,
  methods: Readonly<Record<string, Answer>>,
): new (ctx: Context) => Service {
  const Base = base as new (ctx: Context) => Service
  const Recorded = class extends Base {}
  for (const [method, answers] of Object.entries(methods)) {
    Object.defineProperty(Recorded.prototype, method, {
      configurable: true,
      writable: true,
      value(this: unknown, ...args: unknown[]): unknown {
        // What a path is resolved to has an identity, and that is looked at.
        const value = { answerOf: method, targetKey: `/recorded/${method}` }
        const answer = answers === 'promise' ? Promise.resolve(value) : value
        calls.push({ method, self: this, args, answer })
        return answer
      },
    })
  }
  return Recorded
}
