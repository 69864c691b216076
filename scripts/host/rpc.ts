/** The calls that DSH's browser half makes to its host, for whoever plays the browser. */
import { randomUUID } from 'node:crypto'

export class RpcError extends Error {
  readonly method: string
  readonly answer: unknown

  constructor(method: string, answer: unknown) {
    super(`${method}: ${typeof answer === 'string' ? answer : JSON.stringify(answer)}`)
    this.method = method
    this.answer = answer
  }
}

/**
 * One call, `workspace.list` for instance.
 * @throws RpcError with the host's own answer when it refuses or is not a DSH at all.
 */
export async function rpc<Result>(baseUrl: string, method: string, payload: object = {}): Promise<Result> {
  const response = await fetch(`${baseUrl}/api/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'client-request', rpcId: randomUUID(), method, payload }),
  })
  const body = await response.text()
  const answer = parsed(body)
  const result = answer?.result
  if (result?.ok !== true) throw new RpcError(method, result?.error ?? answer ?? `${response.status} ${body}`)
  return result.value as Result
}

interface Envelope {
  readonly result?: { readonly ok?: boolean; readonly value?: unknown; readonly error?: unknown }
}

function parsed(body: string): Envelope | undefined {
  try {
    return JSON.parse(body) as Envelope
  } catch (_notJson) {
    return undefined
  }
}
