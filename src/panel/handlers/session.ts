/** `session`: the secret for the page of this host, which alone can read the answer. */
import type { Api } from '../../wire/api.ts'
import type { Handler } from './call.ts'

export const readSession: Handler<Api['GET session']> = (call) => Promise.resolve(call.session)
