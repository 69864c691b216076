/** What makes a time of the tools bench count; the bench itself is what runs the tools. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WrongAnswer } from '../../scripts/bench/answers.ts'
import { CASES } from '../../scripts/bench/tools/cases.ts'
import { startTimedModel, type TimedModel } from '../../scripts/bench/tools/turn.ts'
import type { Message } from '../../scripts/model/script.ts'

describe('a measured call', () => {
  let project = ''

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'presence-cases-'))
  })
  afterAll(() => rm(project, { recursive: true, force: true }))

  it.each(CASES)('of $name does not count with another answer than the right one', async (one) => {
    await one.prepare(project, 1)
    await expect(one.check(one.calls(1).map(String), project, 1)).rejects.toThrow(WrongAnswer)
  })

  it.each([
    ['overwrite', 'Updated file'],
    ['edit', 'The file has been updated successfully.'],
  ])('of %s does not count when only the answer is right, not the file', async (name, said) => {
    const one = CASES.find((candidate) => candidate.name === name)
    await one?.prepare(project, 2)
    const answers = ['', `<content>\n${said}\n</content>`]
    await expect(one?.check(answers, project, 2)).rejects.toThrow(/holds/)
  })
})

describe('a timed turn', () => {
  const WORK_MS = 30
  let model: TimedModel

  beforeAll(async () => {
    model = await startTimedModel()
  })
  afterAll(() => model.stop())

  /** A host by what it asks the model after a prompt. */
  function hostThat(asks: (prompt: string) => Promise<void>) {
    return {
      url: '',
      ended: new Promise<string>(() => undefined),
      output: () => '',
      stop: () => Promise.resolve(),
      kill: () => Promise.resolve(),
      rpc: async <Result>(_method: string, payload?: object): Promise<Result> => {
        const { content } = payload as { content: { text: string }[] }
        void asks(content[0]?.text ?? '')
        return undefined as Result
      },
    }
  }

  async function ask(messages: readonly Message[], offered = ['read']): Promise<void> {
    const body = JSON.stringify({ messages, tools: offered.map((name) => ({ function: { name } })) })
    await (await fetch(`${model.url}/chat/completions`, { method: 'POST', body })).text()
  }

  const calls = [
    { name: 'read', args: { file_path: 'a' } },
    { name: 'read', args: { file_path: 'b' } },
  ]

  it('takes what lies between a call and the request that brings its result', async () => {
    const host = hostThat(async (prompt) => {
      const messages: Message[] = [{ role: 'user', content: prompt }]
      await ask(messages, [])
      await ask([{ role: 'user', content: 'Another session.' }])
      for (const content of ['one', 'two']) {
        await ask(messages)
        await new Promise((resume) => setTimeout(resume, WORK_MS))
        messages.push({ role: 'assistant', content: '' }, { role: 'tool', content })
      }
      await ask(messages)
    })
    const { answers, firstMs } = await model.turn(host, 'session', calls)
    expect(answers.map(({ text }) => text)).toEqual(['one', 'two'])
    // No work is over sooner than it takes; timers may be a millisecond early.
    for (const { ms } of answers) expect(ms).toBeGreaterThan(WORK_MS - 2)
    expect(firstMs).toBeGreaterThan(answers[0]?.ms ?? Number.NaN)
  })

  it('fails when the host asks again instead of bringing a result', async () => {
    const host = hostThat(async (prompt) => {
      for (let again = 0; again <= calls.length; again += 1) await ask([{ role: 'user', content: prompt }])
    })
    await expect(model.turn(host, 'session', calls)).rejects.toThrow('2 calls were answered by 0 results')
  })

  it('fails with what the host printed when the host ends', async () => {
    const host = { ...hostThat(() => Promise.resolve()), output: () => 'out of memory' }
    const turn = model.turn({ ...host, ended: Promise.resolve('exit code 134') }, 'session', calls)
    await expect(turn).rejects.toThrow(/exit code 134[\s\S]*out of memory/)
  })
})
