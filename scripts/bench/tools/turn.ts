/**
 * One turn of an agent as the model sees it, with times: a model that answers at once, and how long the
 * host takes from its tool call to its next request, which brings the result. Both ends of that time are
 * taken in the model's own process.
 */
import { situationOf, type ToolCall } from '../../model/script.ts'
import { startModel, type ModelRequest } from '../../model/server.ts'
import type { WebHost } from '../../host/web.ts'

export interface Answer {
  readonly text: string
  /** Milliseconds from the call to the request that brings this text. */
  readonly ms: number
}

export interface Turn {
  /** One for each call, in order. */
  readonly answers: readonly Answer[]
  /** Milliseconds from the prompt to the request that brings the first answer. */
  readonly firstMs: number
}

export interface TimedModel {
  /** For `DEEPSEEK_BASE_URL`. */
  readonly url: string
  /** Prompt a session and let the model make these calls, one a step. One turn at a time. */
  turn(web: WebHost, sessionId: string, calls: readonly ToolCall[]): Promise<Turn>
  stop(): Promise<void>
}

interface Exchange {
  readonly request: ModelRequest
  readonly came: number
  answered?: number
}

const TURN_DEADLINE_MS = 60_000

export async function startTimedModel(): Promise<TimedModel> {
  let prompt = ''
  let exchanges: Exchange[] = []
  let answered = (): void => undefined
  const model = await startModel([{ text: 'ok' }], {
    came: (request, came) => {
      // A session's title is asked for beside the turn, and without tools.
      if (request.tools.length === 0 || situationOf(request.messages).prompt !== prompt) return
      exchanges.push({ request, came })
    },
    answered: (request, at) => {
      const exchange = exchanges.find((one) => one.request === request)
      if (exchange === undefined) return
      exchange.answered = at
      answered()
    },
  })
  let turns = 0

  const turn: TimedModel['turn'] = async (web, sessionId, calls) => {
    turns += 1
    prompt = `Turn ${turns}.`
    exchanges = []
    const ended = new Promise<void>((resolve) => {
      answered = () => (exchanges.length > calls.length ? resolve() : undefined)
    })
    model.play([...calls.map((call) => ({ calls: [call] })), { text: 'Done.' }])
    const began = performance.now()
    await web.rpc('session.prompt', { sessionId, mode: 'queue', content: [{ type: 'text', text: prompt }] })
    await inTime(ended, web)
    return timesOf(exchanges, calls.length, began)
  }
  return { url: model.url, turn, stop: () => model.stop() }
}

/** @throws when the host did not bring exactly the answers to the calls. */
function timesOf(exchanges: readonly Exchange[], calls: number, began: number): Turn {
  const texts = situationOf(exchanges.at(-1)?.request.messages ?? []).results
  if (texts.length !== calls) throw new Error(`${calls} calls were answered by ${texts.length} results`)
  const answers = texts.map((text, at) => {
    const [asked, brought] = [exchanges[at]?.answered ?? Number.NaN, exchanges[at + 1]?.came ?? Number.NaN]
    return { text, ms: brought - asked }
  })
  return { answers, firstMs: (exchanges[1]?.came ?? Number.NaN) - began }
}

async function inTime(ended: Promise<void>, web: WebHost): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`not over after ${TURN_DEADLINE_MS / 1000} s`), TURN_DEADLINE_MS)
  })
  const gone = web.ended.then((how) => `the host ended (${how})`)
  const wrong = await Promise.race([ended, late, gone])
  clearTimeout(timer)
  if (wrong !== undefined) throw new Error(`the turn failed: ${wrong}; the host printed:\n${web.output()}`)
}
