/**
 * What the scripted model says next: pure functions of the conversation so far, so that every request
 * can be answered alone and a resumed session goes on where it was. The HTTP side is `server.ts`.
 */
export interface ToolCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** One answer of the model: calls to run together, or the text that ends the turn. */
export type Step = { readonly calls: readonly ToolCall[]; readonly text?: string } | { readonly text: string }

/** Where the conversation stands when the model is asked. */
export interface Situation {
  /** The person's message that opened the turn. */
  readonly prompt: string
  /** Turns before this one. */
  readonly turn: number
  /** Answers the model has given in this turn. */
  readonly step: number
  /** What the tools answered in this turn, in order. */
  readonly results: readonly string[]
}

/** A list is played from its start in every turn. */
export type Script = readonly Step[] | ((situation: Situation) => Step)

/** A message of a chat completion request, as far as it matters here. */
export interface Message {
  readonly role: string
  readonly content?: string | null | readonly { readonly text?: string }[]
}

/** Said when a script has no step left, for instance after a notice that the host sends by itself. */
export const NOTHING_LEFT: Step = { text: 'There is nothing more in the script.' }

/**
 * Messages that the host puts into the conversation under the person's role. They come at any time,
 * also in the middle of a turn: counting from one of them would play the script again and again.
 */
const FROM_THE_HOST = /^(<system-reminder>|Current runtime context\.|background job |subagent )/

/** A message may carry its own script after this word, as a JSON list of steps. */
const INLINE = /SCRIPT:\s*(\[[\s\S]*\])/

export function nextStep(script: Script, messages: readonly Message[]): Step {
  const situation = situationOf(messages)
  const inline = INLINE.exec(situation.prompt)?.[1]
  const chosen = inline === undefined ? script : (JSON.parse(inline) as readonly Step[])
  return (typeof chosen === 'function' ? chosen(situation) : chosen[situation.step]) ?? NOTHING_LEFT
}

export function situationOf(messages: readonly Message[]): Situation {
  const prompts = messages.flatMap((message, at) => (isPrompt(message) ? [at] : []))
  const opening = prompts.at(-1) ?? -1
  const since = messages.slice(opening + 1)
  return {
    prompt: opening < 0 ? '' : textOf(messages[opening]),
    turn: Math.max(prompts.length - 1, 0),
    step: since.filter((message) => message.role === 'assistant').length,
    results: since.filter((message) => message.role === 'tool').map(textOf),
  }
}

export function textOf(message: Message | undefined): string {
  const content = message?.content ?? ''
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('\n')
}

function isPrompt(message: Message): boolean {
  return message.role === 'user' && !FROM_THE_HOST.test(textOf(message).trimStart())
}
