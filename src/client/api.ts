/**
 * The page's side of `/api/presence/*`: typed calls, one secret for all of them, and every way a call
 * can fail as one kind of error.
 */
import {
  SECRET_HEADER,
  type Api,
  type ConnectRequest,
  type ErrorView,
  type MachineView,
  type WorkspaceRemoval,
  type WorkspaceRequest,
  type WorkspaceView,
} from '../wire/api.ts'
import type { ClientFailureCode } from './strings.ts'

/** A call failed. An aborted call rejects with the browser's `AbortError` instead. */
export class ApiError extends Error {
  readonly code: ClientFailureCode
  /** How far a connection attempt had come, where that is what failed. */
  readonly stage: string | undefined

  constructor(
    message: string,
    code: ClientFailureCode,
    details: { stage?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause })
    this.name = 'ApiError'
    this.code = code
    this.stage = details.stage
  }
}

export interface PresenceApi {
  machines(signal: AbortSignal): Promise<readonly MachineView[]>
  connect(host: string, signal?: AbortSignal): Promise<MachineView>
  workspaces(signal: AbortSignal): Promise<readonly WorkspaceView[]>
  change(request: WorkspaceRequest, signal?: AbortSignal): Promise<WorkspaceView>
  remove(workspace: WorkspaceRemoval): Promise<WorkspaceView>
  browse(host: string, path: string, signal: AbortSignal): Promise<Api['GET browse']>
}

interface CallInput {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly signal?: AbortSignal | undefined
}

/** `base` is the document's address: the host may be mounted below a path. */
export function createApi(base: string): PresenceApi {
  let session: Promise<Api['GET session']> | undefined

  /** The session is read once; a failed reading is not kept. */
  const currentSession = (): Promise<Api['GET session']> => {
    const reading = (session ??= send<'GET session'>(base, 'GET session', {}, undefined))
    reading.catch((_toldToTheCaller: unknown) => {
      if (session === reading) session = undefined
    })
    return reading
  }

  const call = async <Key extends keyof Api>(key: Key, input: CallInput): Promise<Api[Key]> => {
    const used = currentSession()
    try {
      return await send(base, key, input, (await used).secret)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'forbidden') throw error
      // The host was started anew and has another secret. The refused call did nothing, so it may go again.
      if (session === used) session = undefined
      return send(base, key, input, (await currentSession()).secret)
    }
  }

  return {
    machines: async (signal) => (await call('GET machines', { signal })).machines,
    connect: async (host, signal) => {
      const body: ConnectRequest = { host }
      return (await call('POST machines/connect', { body, signal })).machine
    },
    workspaces: async (signal) => (await call('GET workspaces', { signal })).workspaces,
    change: async (body, signal) => (await call('POST workspaces', { body, signal })).workspace,
    remove: async (body) => (await call('POST workspaces/remove', { body })).removed,
    browse: (host, path, signal) => call('GET browse', { query: { host, path }, signal }),
  }
}

async function send<Key extends keyof Api>(
  base: string,
  key: Key,
  input: CallInput,
  secret: string | undefined,
): Promise<Api[Key]> {
  const [method = '', operation = ''] = key.split(' ')
  const url = new URL(`api/presence/${operation}`, base)
  for (const [name, value] of Object.entries(input.query ?? {})) url.searchParams.set(name, value)
  const answer = await fetchAnswer(url, {
    method,
    headers: {
      ...(secret === undefined ? {} : { [SECRET_HEADER]: secret }),
      ...(input.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
    ...(input.signal === undefined ? {} : { signal: input.signal }),
  })
  const value = await readValue(answer, input.signal)
  if (answer.ok) return value as Api[Key]
  if (!isErrorView(value)) throw new ApiError(`HTTP ${answer.status}`, 'bad-answer')
  const { code, message, stage } = value.error
  throw new ApiError(message, code, { stage })
}

async function fetchAnswer(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new ApiError('', 'offline', { cause: error })
  }
}

async function readValue(answer: Response, signal: AbortSignal | undefined): Promise<unknown> {
  try {
    return await answer.json()
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiError(`HTTP ${answer.status}`, 'bad-answer', { cause: error })
  }
}

function isErrorView(value: unknown): value is ErrorView {
  if (typeof value !== 'object' || value === null || !('error' in value)) return false
  const { error } = value
  return typeof error === 'object' && error !== null && 'code' in error && 'message' in error
}
