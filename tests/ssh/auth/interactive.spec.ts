import type { AuthContext, Prompt } from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import type { AuthSettings } from '../../../src/ssh/config/settings.ts'
import type { Answer, Question } from '../../../src/ssh/questions.ts'
import { AuthBench, failureOf, person, type Attempt } from '../../support/auth-bench.ts'
import { startDance, type DanceFloor } from '../../support/auth-dance.ts'
import { settingsFor } from '../../support/rig.ts'

const bench = new AuthBench()
let partner: DemoMachine
beforeAll(async () => {
  partner = await bench.sshd()
})
afterAll(() => bench.close())

const PASSWORD: Prompt = { prompt: 'Password: ', echo: false }
const CODE: Prompt = { prompt: 'Verification code: ', echo: true }

type Dance = () => (attempt: AuthContext) => void

async function floor(dance: Dance): Promise<DanceFloor> {
  return bench.keep(await startDance(partner, dance))
}

/** Accepts any host key, and has no keys of its own unless told. */
function attempt(server: DemoMachine, more: Attempt = {}): Attempt {
  const { hostKeys } = settingsFor(server)
  const auth: Partial<AuthSettings> = { identityFiles: [], ...more.auth }
  return {
    ...more,
    auth,
    settings: { hostKeys: { ...hostKeys, policy: 'no', userFiles: [] }, ...more.settings },
  }
}

/** One round of prompts, then what `judge` says of the answers. */
const ask =
  (prompts: readonly Prompt[], judge: (answers: readonly string[], attempt: AuthContext) => void): Dance =>
  () =>
  (context) => {
    if (context.method !== 'keyboard-interactive') return void context.reject(['keyboard-interactive'])
    context.prompt([...prompts], 'Login', 'Read this first.', (answers) => judge(answers, context))
  }

/** A person who answers every prompt by a table. */
function knowing(table: Readonly<Record<string, string>>): {
  asked: Question[]
  answer: (question: Question) => Answer
} {
  const asked: Question[] = []
  return {
    asked,
    answer: (question) => {
      asked.push(question)
      if (question.kind !== 'keyboard-interactive') return { kind: 'nobody' }
      return { kind: 'texts', texts: question.prompts.map(({ text }) => table[text] ?? '') }
    },
  }
}

describe('keyboard-interactive', () => {
  it('passes name, instructions, prompts and their echo on, round by round, and the answers back', async () => {
    const heard: (readonly string[])[] = []
    const { machine } = await floor(() => (context) => {
      if (context.method !== 'keyboard-interactive') return void context.reject(['keyboard-interactive'])
      context.prompt([PASSWORD, CODE], 'First', 'Two at once.', (first) => {
        heard.push(first)
        context.prompt([{ prompt: 'Choose 1-3: ', echo: true }], 'Second', '', (second) => {
          heard.push(second)
          context.prompt([], 'Third', 'Nothing to do.', (third) => {
            heard.push(third)
            context.accept()
          })
        })
      })
    })
    const { asked, answer } = knowing({
      'Password: ': 'pw',
      'Verification code: ': '123',
      'Choose 1-3: ': '',
    })
    expect(await bench.method(machine, attempt(machine, { answer }))).toBe('keyboard-interactive')
    expect(heard).toEqual([['pw', '123'], [''], []])
    const same = { kind: 'keyboard-interactive', machine: 'demo', user: machine.user, retry: false }
    expect(asked).toEqual([
      {
        ...same,
        name: 'First',
        instructions: 'Two at once.',
        prompts: [
          { text: 'Password: ', echo: false },
          { text: 'Verification code: ', echo: true },
        ],
      },
      { ...same, name: 'Second', instructions: '', prompts: [{ text: 'Choose 1-3: ', echo: true }] },
    ])
  })

  it('F28: takes the typed password for the one hidden prompt of a server that refuses it otherwise', async () => {
    const offered: string[] = []
    const { machine } = await floor(() => (context) => {
      const both: ('password' | 'keyboard-interactive')[] = ['password', 'keyboard-interactive']
      if (context.method === 'password') {
        offered.push(`password ${context.password}`)
        return void context.reject(both)
      }
      if (context.method !== 'keyboard-interactive') return void context.reject(both)
      context.prompt([PASSWORD], '', '', ([text]) => {
        offered.push(`prompt ${text}`)
        if (text === 'right') context.accept()
        else context.reject(both)
      })
    })
    const { asked, answer } = person('right')
    const auth = { preferred: ['password', 'keyboard-interactive'] }
    const connection = bench.connection(machine, attempt(machine, { auth, answer }))
    await connection.link()
    expect(offered).toEqual(['password right', 'prompt right'])
    expect(asked).toHaveLength(1)
  })

  it('F28: is answered by itself when the server asks nothing after the key', async () => {
    const { machine, methods } = await floor(() => {
      let keyed = false
      return (context) => {
        if (context.method === 'publickey' && !keyed) {
          keyed = context.signature !== undefined
          if (keyed) context.reject(['keyboard-interactive'], true)
          else context.accept()
        } else if (context.method === 'keyboard-interactive' && keyed) {
          context.prompt([], '', '', () => context.accept())
        } else {
          context.reject(['publickey'])
        }
      }
    })
    const auth = { identityFiles: [partner.identityFile] }
    const method = await bench.method(machine, attempt(machine, { auth }))
    expect(method).toBe(`publickey ${partner.identityFile}, keyboard-interactive`)
    expect(methods).toEqual(['publickey', 'publickey', 'keyboard-interactive'])
  })

  it('is repeated as often as NumberOfPasswordPrompts says, and tells that the last answers were refused', async () => {
    let rounds = 0
    const { machine } = await floor(
      ask([CODE], (_answers, context) => {
        rounds += 1
        context.reject(['keyboard-interactive'])
      }),
    )
    const { asked, answer } = knowing({ 'Verification code: ': 'secret-000' })
    const failure = await bench.failure(machine, attempt(machine, { auth: { passwordPrompts: 2 }, answer }))
    expect(rounds).toBe(2)
    expect(asked.map((question) => 'retry' in question && question.retry)).toEqual([false, true])
    expect(failure.code).toBe('auth-failed')
    expect(failure.message).not.toContain('secret-000')
  })

  it('never gives a one-time code a second time, and gives a password again until it is refused', async () => {
    const heard: string[] = []
    const dance = (prompt: Prompt, right: () => string): Dance =>
      ask([prompt], ([text], context) => {
        heard.push(text ?? '')
        if (text === right()) context.accept()
        else context.reject(['keyboard-interactive'])
      })
    const codes = await floor(dance({ ...CODE, echo: false }, () => '111'))
    const once = knowing({ 'Verification code: ': '111' })
    const byCode = bench.connection(codes.machine, attempt(codes.machine, { answer: once.answer }))
    await byCode.link()
    byCode.drop()
    await byCode.link()
    expect(once.asked).toHaveLength(2)

    heard.length = 0
    let right = 'old'
    const passwords = await floor(dance(PASSWORD, () => right))
    const { asked, answer } = person('old', 'new')
    const byPassword = bench.connection(passwords.machine, attempt(passwords.machine, { answer }))
    await byPassword.link()
    byPassword.drop()
    await byPassword.link()
    right = 'new'
    byPassword.drop()
    await byPassword.link()
    expect(heard).toEqual(['old', 'old', 'old', 'new'])
    expect(asked).toHaveLength(2)
  })

  it.each([
    ['nobody is there', {}, /nobody was there to be asked for what the server asks/i],
    ['BatchMode forbids it', { batchMode: true }, /BatchMode forbids to ask for what the server asks/],
  ])('is an error with what to do when %s, and no answer is made up', async (_why, auth, words) => {
    const heard: (readonly string[])[] = []
    const { machine } = await floor(
      ask([CODE], (answers, context) => {
        heard.push(answers)
        context.reject(['keyboard-interactive'])
      }),
    )
    const failure = await bench.failure(machine, attempt(machine, { auth }))
    expect(failure).toMatchObject({ code: 'question-unanswered', stage: 'auth' })
    expect(failure.message).toMatch(words)
    expect(failure.message).toMatch(/connect once where a person can answer.*ssh-copy-id/)
    expect(heard).toEqual([])
  })

  it('is tried once and not for ever when the server refuses it without asking anything', async () => {
    const { machine, methods } = await floor(() => (context) => context.reject(['keyboard-interactive']))
    const failure = await bench.failure(machine, attempt(machine))
    expect(failure.code).toBe('auth-failed')
    expect(methods).toEqual(['none', 'keyboard-interactive'])
  })

  it('that a person declines is a refusal, not a lack of people', async () => {
    const { machine } = await floor(ask([CODE], (_answers, context) => context.accept()))
    const failure = await bench.failure(machine, attempt(machine, { answer: () => ({ kind: 'no' }) }))
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
  })
})

describe('the time that people take', () => {
  it('F17: does not count: each answer may take much longer than the limit of the attempt', async () => {
    const { machine } = await floor(() => (context) => {
      if (context.method !== 'keyboard-interactive') return void context.reject(['keyboard-interactive'])
      context.prompt([CODE], '', '', () => context.prompt([CODE], '', '', () => context.accept()))
    })
    const slowly = async (question: Question): Promise<Answer> => {
      await new Promise((resolve) => setTimeout(resolve, 900))
      return question.kind === 'host-key' ? { kind: 'yes' } : { kind: 'text', text: '1' }
    }
    const { hostKeys } = settingsFor(machine)
    const known = { ...hostKeys, policy: 'ask', userFiles: [bench.path('learnt')] } as const
    const settings = { connectTimeoutMs: 400, hostKeys: known }
    expect(await bench.method(machine, attempt(machine, { settings, answer: slowly }))).toBe(
      'keyboard-interactive',
    )
  })

  it('F17: does not count when it is the server that asks, by a push to a phone', async () => {
    const { machine } = await floor(
      ask([CODE], (_answers, context) => setTimeout(() => context.accept(), 900)),
    )
    const settings = { connectTimeoutMs: 400, ...attempt(machine).settings }
    const { answer } = knowing({ 'Verification code: ': '1' })
    expect(await bench.method(machine, attempt(machine, { settings, answer }))).toBe('keyboard-interactive')
  })

  it('ends with the connection: a question that nobody needs any more is withdrawn', async () => {
    const { machine, cut } = await floor(ask([CODE], (_answers, context) => context.accept()))
    const withdrawn = Promise.withResolvers<undefined>()
    const answer = (_question: Question, signal: AbortSignal): Promise<Answer> => {
      cut()
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          withdrawn.resolve(undefined)
          resolve({ kind: 'nobody' })
        }),
      )
    }
    const failure = await bench.failure(machine, attempt(machine, { answer }))
    expect(failure.stage).toBe('auth')
    await withdrawn.promise
  })
})

describe('several proofs', () => {
  it('a key and then a password, both by a server that wants both', async () => {
    const { machine } = await floor(() => {
      let keyed = false
      return (context) => {
        if (context.method === 'publickey' && !keyed) {
          keyed = context.signature !== undefined
          if (keyed) context.reject(['password'], true)
          else context.accept()
        } else if (context.method === 'password' && keyed && context.password === 'right') {
          context.accept()
        } else {
          context.reject(keyed ? ['password'] : ['publickey'])
        }
      }
    })
    const { answer } = person('right')
    const auth = { identityFiles: [partner.identityFile] }
    const connection = bench.connection(machine, attempt(machine, { auth, answer }))
    expect((await connection.link()).facts.method).toBe(`publickey ${partner.identityFile}, password`)
    connection.drop()
    expect((await connection.link()).facts.method).toContain(', password')
  })

  it('a password that has expired is an error that says how to change it', async () => {
    const { machine } = await floor(() => (context) => {
      if (context.method !== 'password') return void context.reject(['password'])
      context.requestChange('Your password has expired.', () => context.reject())
    })
    const { answer } = person('old')
    const failure = await failureOf(bench.connect(machine, attempt(machine, { answer })))
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect(failure.message).toMatch(/password of .* has expired: change it .*ssh in a terminal/)
  })
})
