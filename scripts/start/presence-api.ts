/** Presence's HTTP interface, called as its own page calls it. */
import { SECRET_HEADER, type Api, type ErrorView } from '../../src/wire/api.ts'

export class PresenceApiError extends Error {
  readonly view: ErrorView['error']

  constructor(route: string, view: ErrorView['error']) {
    super(`${route}: ${view.message}`)
    this.view = view
  }
}

export class PresenceApi {
  readonly #base: string
  #secret: string | undefined

  /** `url` is the address of the page. */
  constructor(url: string) {
    this.#base = `${url}/api/presence`
  }

  /** @throws PresenceApiError with Presence's own sentence. */
  async call<Route extends keyof Api & string>(route: Route, body?: object): Promise<Api[Route]> {
    this.#secret ??= (await this.#send<Api['GET session']>('GET session', {})).secret
    return this.#send<Api[Route]>(route, { [SECRET_HEADER]: this.#secret }, body)
  }

  async #send<Answer>(route: string, headers: Record<string, string>, body?: object): Promise<Answer> {
    const [method = 'GET', path = ''] = route.split(' ')
    const response = await fetch(`${this.#base}/${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as Answer | ErrorView
    if (!response.ok) throw new PresenceApiError(route, (answer as ErrorView).error)
    return answer as Answer
  }
}
