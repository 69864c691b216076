/**
 * A model that plays a script: the streaming `/chat/completions` of OpenAI and DeepSeek on loopback.
 * It keeps every request it got, for tests to look at what the host really sent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atTheEnd } from '../project/endings.ts'
import { nextStep, type Message, type Script, type Step } from './script.ts'

export interface ModelRequest {
  readonly model: string
  readonly messages: readonly Message[]
  /** Names of the tools the model could have called. */
  readonly tools: readonly string[]
}

export interface ScriptedModel {
  /** For `DEEPSEEK_BASE_URL`. */
  readonly url: string
  /** In the order they came; requests without tools (a session's title) are among them. */
  readonly requests: readonly ModelRequest[]
  play(script: Script): void
  stop(): Promise<void>
}

/** Told of each request, with the time by this process's `performance.now()`. */
export interface ModelListener {
  /** It came in at that time; it is understood and not yet answered. */
  readonly came?: (request: ModelRequest, at: number) => void
  /** All of its answer was on its way at that time. */
  readonly answered?: (request: ModelRequest, at: number) => void
}

/** What the model answers when it is asked for a title, which the host does without any tool. */
const TITLE = 'Scripted session'

export async function startModel(script: Script, listener: ModelListener = {}): Promise<ScriptedModel> {
  const requests: ModelRequest[] = []
  let playing = script
  const server = createServer((request, response) => {
    answer(request, response, performance.now()).catch((failure: unknown) => {
      // A script that throws is a mistake in a test: the host shows this text as the model's failure.
      response.writeHead(500, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: `scripted model: ${String(failure)}` } }))
    })
  })

  const answer = async (request: IncomingMessage, response: ServerResponse, came: number): Promise<void> => {
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', data: [] }))
      return
    }
    const asked = parseRequest(await bodyOf(request))
    requests.push(asked)
    listener.came?.(asked, came)
    const step = asked.tools.length === 0 ? { text: TITLE } : nextStep(playing, asked.messages)
    stream(response, asked.model, requests.length, step)
    listener.answered?.(asked, performance.now())
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  const forget = atTheEnd({ release: stop })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    play: (next) => (playing = next),
    stop: async () => {
      await stop()
      forget()
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function parseRequest(body: string): ModelRequest {
  const parsed = JSON.parse(body) as {
    model?: string
    messages?: Message[]
    tools?: { function?: { name?: string } }[]
  }
  return {
    model: parsed.model ?? 'scripted',
    messages: parsed.messages ?? [],
    tools: (parsed.tools ?? []).flatMap((tool) => tool.function?.name ?? []),
  }
}

function stream(response: ServerResponse, model: string, serial: number, step: Step): void {
  const calls = 'calls' in step ? step.calls : []
  const chunk = (delta: object, finish: string | null = null): void => {
    const choice = { index: 0, delta, finish_reason: finish }
    const usage =
      finish === null ? {} : { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }
    const data = {
      id: `scripted-${serial}`,
      object: 'chat.completion.chunk',
      created: 0,
      model,
      choices: [choice],
    }
    response.write(`data: ${JSON.stringify({ ...data, ...usage })}\n\n`)
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  chunk({ role: 'assistant' })
  if (step.text !== undefined) chunk({ content: step.text })
  calls.forEach(({ name, args }, index) =>
    chunk({
      tool_calls: [
        {
          index,
          id: `call_${serial}_${index}`,
          type: 'function',
          function: { name, arguments: JSON.stringify(args) },
        },
      ],
    }),
  )
  chunk({}, calls.length > 0 ? 'tool_calls' : 'stop')
  response.end('data: [DONE]\n\n')
}
