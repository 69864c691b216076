/** Reading a JSON body with a bound on its size and on its time. */
import { race } from '../base/race.ts'
import { RequestError } from './errors.ts'
import { soleHeader, type PanelRequest } from './request.ts'

export const BODY_LIMIT_BYTES = 64 * 1024

/**
 * The body as a JSON object.
 * @throws RequestError `not-json`, `too-large`, `too-slow` or `bad-request`
 */
export async function readJsonObject(
  request: PanelRequest,
  deadlineMs: number,
): Promise<Readonly<Record<string, unknown>>> {
  checkType(request)
  const declared = soleHeader(request, 'content-length')
  if (typeof declared === 'string' && Number(declared) > BODY_LIMIT_BYTES) throw tooLarge()
  const bytes = await race(() => collect(request.body()), [], {
    afterMs: deadlineMs,
    error: () =>
      new RequestError('The body did not arrive in time.', 'too-slow', { headers: { connection: 'close' } }),
  })
  return parseObject(bytes)
}

function checkType(request: PanelRequest): void {
  const value = soleHeader(request, 'content-type')
  if (typeof value === 'string' && /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(value))
    return
  throw new RequestError('The body must be sent as content-type: application/json.', 'not-json')
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      size += chunk.byteLength
      if (size > BODY_LIMIT_BYTES) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof RequestError) throw error
    throw new RequestError('The body broke off.', 'bad-request', { cause: error })
  }
  return Buffer.concat(chunks)
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new RequestError('The body is not valid JSON.', 'bad-request', { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RequestError('The body must be a JSON object.', 'bad-request')
  }
  return value as Readonly<Record<string, unknown>>
}

function tooLarge(): RequestError {
  return new RequestError(`The body is larger than ${BODY_LIMIT_BYTES} bytes.`, 'too-large')
}
