/** The scripted model as DSH sees it: one HTTP request, one streamed answer, chosen by the conversation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openConversation, CORRECTION } from '../../scripts/model/conversation.ts'
import { nextStep, NOTHING_LEFT, situationOf, type Message } from '../../scripts/model/script.ts'
import { startModel, type ModelRequest, type ScriptedModel } from '../../scripts/model/server.ts'

const SCRIPT = [
  { calls: [{ name: 'read', args: { file_path: 'a' } }] },
  { calls: [{ name: 'bash', args: { command: 'true' } }] },
  { text: 'done' },
]

const user = (content: string): Message => ({ role: 'user', content })
const assistant: Message = { role: 'assistant', content: '' }
const tool = (content: string): Message => ({ role: 'tool', content })

describe('nextStep', () => {
  it('plays the script from its start in every turn', () => {
    expect(nextStep(SCRIPT, [user('go')])).toBe(SCRIPT[0])
    expect(nextStep(SCRIPT, [user('go'), assistant, tool('x')])).toBe(SCRIPT[1])
    expect(nextStep(SCRIPT, [user('go'), assistant, assistant, assistant, user('again')])).toBe(SCRIPT[0])
  })

  it.each([
    '<system-reminder>\nThe following workspace instructions',
    'Current runtime context. This snapshot supersedes earlier',
    'background job bash-1 (bash: sleep 1) finished [status: completed, exit code: 0].',
  ])('does not begin again when the host puts in a message of its own: %s', (notice) => {
    expect(nextStep(SCRIPT, [user('go'), user(notice), assistant, tool('x'), user(notice)])).toBe(SCRIPT[1])
  })

  it('says so when a script has no step left, instead of beginning again', () => {
    expect(nextStep(SCRIPT, [user('go'), assistant, assistant, assistant])).toBe(NOTHING_LEFT)
  })

  it('plays the script that a message carries, in that turn only', () => {
    const carrying = user('please SCRIPT:[{"text":"as told"}]')
    expect(nextStep(SCRIPT, [carrying])).toEqual({ text: 'as told' })
    expect(nextStep(SCRIPT, [carrying, assistant, user('go')])).toBe(SCRIPT[0])
  })

  it('gives a script that is a function the turn, the step and what the tools answered', () => {
    const messages = [user('first'), assistant, user('second'), assistant, tool('one'), tool('two')]
    expect(situationOf(messages)).toEqual({ prompt: 'second', turn: 1, step: 1, results: ['one', 'two'] })
  })
})

describe('the open conversation', () => {
  it('repairs a project once, and has nothing to repair in one that is in order', () => {
    const after = (result: string): Message[] => [user('go'), assistant, assistant, assistant, tool(result)]
    const goesOn = nextStep(openConversation, after(`data/cuxhaven.csv:6:${CORRECTION.wrong}`))
    const stops = nextStep(openConversation, after('all lines are in the agreed form'))
    expect(goesOn).toHaveProperty('calls')
    expect(stops).toEqual({ text: expect.stringContaining('nothing to complain') })
  })
})

describe('the scripted model', () => {
  let model: ScriptedModel
  const told: { what: string; at: number }[] = []

  beforeAll(async () => {
    const tell =
      (what: string) =>
      ({ messages }: ModelRequest, at: number): void =>
        void told.push({ what: `${situationOf(messages).prompt} ${what}`, at })
    model = await startModel(SCRIPT, { came: tell('came'), answered: tell('answered') })
  })
  afterAll(() => model.stop())

  async function ask(
    messages: readonly Message[],
    tools: readonly string[] = ['read', 'bash'],
  ): Promise<string[]> {
    const response = await fetch(`${model.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'm',
        stream: true,
        messages,
        tools: tools.map((name) => ({ function: { name } })),
      }),
    })
    return (await response.text()).split('\n\n').filter((line) => line !== '')
  }

  it('streams a call as an OpenAI-compatible server does, and ends the stream', async () => {
    const lines = await ask([user('go')])
    const choices = lines.slice(0, -1).map((line) => JSON.parse(line.replace('data: ', '')).choices[0])
    expect(choices.map((choice) => choice.finish_reason)).toEqual([null, null, 'tool_calls'])
    expect(choices[1].delta.tool_calls).toEqual([
      {
        index: 0,
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name: 'read', arguments: '{"file_path":"a"}' },
      },
    ])
    expect(lines.at(-1)).toBe('data: [DONE]')
  })

  it('keeps what it was asked', async () => {
    await ask([user('remember this')])
    expect(model.requests.at(-1)).toEqual({
      model: 'm',
      messages: [user('remember this')],
      tools: ['read', 'bash'],
    })
  })

  it('tells when a request came and when it was answered, in this order', async () => {
    told.length = 0
    await ask([user('first')])
    await ask([user('second')])
    expect(told.map(({ what }) => what)).toEqual([
      'first came',
      'first answered',
      'second came',
      'second answered',
    ])
    const times = told.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  it('answers a request without tools with a title, outside the script', async () => {
    expect((await ask([user('go')], [])).join('\n')).toContain('Scripted session')
  })

  it('plays another script from the next request on', async () => {
    model.play([{ text: 'something else' }])
    expect((await ask([user('go')])).join('\n')).toContain('something else')
  })

  it('answers a script that fails with an error, so that the turn fails and does not hang', async () => {
    model.play(() => {
      throw new Error('no such step')
    })
    expect((await ask([user('go')])).join('\n')).toContain('no such step')
  })
})
